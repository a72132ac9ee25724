package tlog_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"

	"crypto/sha256"
)

// counter counts the files that are opened.
type counter struct {
	fstest.MapFS
	opened int
}

func (c *counter) Open(name string) (fs.File, error) {
	c.opened++
	return c.MapFS.Open(name)
}

func flipAt(s string, i int) string {
	b := []byte(s)
	b[i] ^= 1
	return string(b)
}

// flipCase makes letters of a part upper case; it must hold some.
func flipCase(s string, from, to int) string {
	up := s[:from] + strings.ToUpper(s[from:to]) + s[to:]
	if up == s {
		panic("no letter to change")
	}
	return up
}

// smallKey is the text of a key of small order with the right id.
func smallKey() string {
	key := append([]byte{1}, make([]byte, 32)...)
	key[1] = 1
	sum := sha256.Sum256(append([]byte("log\n"), key...))
	return fmt.Sprintf("log+%x+%s", sum[:4], base64.StdEncoding.EncodeToString(key))
}
