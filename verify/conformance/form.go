package conformance

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/digest"
	"assay/verify/vector"
)

func runFormP(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	return runForm(op, in, canon.UTF8)
}

func runFormR(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	return runForm(op, in, canon.ASCII)
}

func runForm(op string, in jsontext.Value, write func(any) ([]byte, error)) (any, error) {
	v, err := vector.Read[struct {
		Text string         `json:"text"`
		Tree jsontext.Value `json:"tree"`
	}](in)
	if err != nil {
		return nil, err
	}
	var value any
	switch op {
	case "json":
		value, err = canon.Decode([]byte(v.Text))
	case "tree":
		value, err = grow(v.Tree)
	default:
		err = vector.UnknownOp(op)
	}
	if err != nil {
		return nil, err
	}
	text, err := write(value)
	if err != nil {
		return nil, err
	}
	return canon.Object{"bytes": hex.EncodeToString(text), "digest": digest.HexOfBytes(text)}, nil
}

func runFloat(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Bits string `json:"bits"`
	}](in)
	if err != nil {
		return nil, err
	}
	if op != "repr" {
		return nil, vector.UnknownOp(op)
	}
	f, err := floatOf(v.Bits)
	if err != nil {
		return nil, err
	}
	text, err := canon.UTF8(f)
	return string(text), err
}

// grow makes the value that a tagged tree stands for: ["n"], ["b",bool], ["i",decimal], ["f",bits], ["s",hex],
// ["a",[trees]] or ["o",[[hex,tree],...]].
func grow(node jsontext.Value) (any, error) {
	parts, err := vector.Read[[]jsontext.Value](node)
	if err != nil {
		return nil, err
	}
	if string(node) == `["n"]` {
		return nil, nil
	}
	if len(parts) != 2 {
		return nil, fmt.Errorf("no tree: %s", node)
	}
	switch tag := string(parts[0]); tag {
	case `"b"`:
		return vector.Read[bool](parts[1])
	case `"a"`:
		return growList(parts[1])
	case `"o"`:
		return growObject(parts[1])
	}
	text, err := vector.Read[string](parts[1])
	if err != nil {
		return nil, err
	}
	switch tag := string(parts[0]); tag {
	case `"i"`:
		return canon.Int(text), nil
	case `"f"`:
		return floatOf(text)
	case `"s"`:
		b, err := hex.DecodeString(text)
		return string(b), err
	}
	return nil, fmt.Errorf("no tree: %s", node)
}

func growList(nodes jsontext.Value) (any, error) {
	below, err := vector.Read[[]jsontext.Value](nodes)
	list := make([]any, len(below))
	for i := 0; i < len(below) && err == nil; i++ {
		list[i], err = grow(below[i])
	}
	return list, err
}

func growObject(nodes jsontext.Value) (any, error) {
	below, err := vector.Read[[][2]jsontext.Value](nodes)
	object := make(canon.Object, len(below))
	for i := 0; i < len(below) && err == nil; i++ {
		var key string
		if key, err = vector.Read[string](below[i][0]); err != nil {
			break
		}
		var raw []byte
		if raw, err = hex.DecodeString(key); err != nil {
			break
		}
		object[string(raw)], err = grow(below[i][1])
	}
	return object, err
}

// floatOf is the double with those bits, 16 hexadecimal digits.
func floatOf(bits string) (float64, error) {
	u, err := strconv.ParseUint(bits, 16, 64)
	return math.Float64frombits(u), err
}
