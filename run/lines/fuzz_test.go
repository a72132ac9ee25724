package lines_test

import (
	"bytes"
	"testing"

	"assay/run/lines"
)

// What the reader accepts has one spelling: written again, it is what was read, but for a tail that was cut off.
func FuzzReadAll(f *testing.F) {
	_, good := write(f, some...)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(good[:len(good)-4])
	f.Add(append(bytes.Clone(good[:len(good)-4]), 0, 0))
	f.Add([]byte("00000000 \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var held [][]byte
		if err := lines.ReadAll(bytes.NewReader(text), format, func(_ int64, p []byte) error {
			held = append(held, bytes.Clone(p))
			return nil
		}); err != nil {
			return
		}
		whole := lines.AppendFile(nil, format, held)
		text = bytes.TrimRight(text, "\x00")
		if !bytes.HasPrefix(text, whole) && !bytes.HasPrefix(whole, text) {
			t.Errorf("accepted %q, which is written %q", text, whole)
		}
	})
}
