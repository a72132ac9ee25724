// Package file holds an ed25519 key that lies in a file: 32 bytes of seed as 64 hexadecimal digits in one line.
//
// Invariants:
//   - Only a regular file that its owner alone may read is opened; a symbolic link never is.
//   - The seed is in no error, no log and no field that fmt could print.
//   - A file that is another kind of key is named as what it is, with what to do instead.
//   - Create never replaces a file, and leaves none behind when it fails.
//
// Specification: docs/spec/envelope.md.
package file

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assay/core/canon"
	"assay/core/fault"
	"assay/core/sign"
)

// The refusals of this room.
var (
	Missing   = fault.NewCode("keyfile.missing", fault.NotFound, "there is no key file; make one with the command that makes keys")
	Exposed   = fault.NewCode("keyfile.exposed", fault.Forbidden, "others may read the key file; chmod 600 it, and make a new key if it may have been read")
	NotFile   = fault.NewCode("keyfile.not_file", fault.Invalid, "the key file is not a regular file; name the file itself, no link to it")
	NotSeed   = fault.NewCode("keyfile.not_seed", fault.Invalid, "the key file is not one line of 64 lower-case hexadecimal digits")
	Sr25519   = fault.NewCode("keyfile.sr25519", fault.Invalid, "this is an sr25519 wallet key, which cannot sign or open envelopes; make a new ed25519 hotkey and register that one")
	Wallet    = fault.NewCode("keyfile.wallet", fault.Invalid, "this is a wallet file; write its 32-byte secretSeed alone, without 0x, into a file of mode 600")
	Encrypted = fault.NewCode("keyfile.encrypted", fault.Invalid, "this key file is encrypted with a password; decrypt it and write its 32-byte seed alone into a file of mode 600")
	Exists    = fault.NewCode("keyfile.exists", fault.Conflict, "a file stands there already; a key is never replaced")
)

// maxFile is the longest file in bytes that is looked at: more than any wallet's, to be able to name one.
const maxFile = 1 << 16

// Open returns the signer whose seed lies in the file at path.
func Open(path string) (sign.Signer, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	seed, err := parse(text)
	if err != nil {
		return nil, err
	}
	defer clear(seed[:])
	return sign.NewEd25519(seed), nil
}

// read returns the file's bytes after every check that needs the file itself: the open file is asked, not the name, so that
// nothing changes between the look and the read.
func read(path string) ([]byte, error) {
	f, err := openNoFollow(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, Missing.With(fault.Str("path", path))
	case errors.Is(err, errLink):
		return nil, NotFile.With(fault.Str("path", path))
	case err != nil:
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, NotFile.With(fault.Str("path", path))
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, Exposed.With(fault.Str("path", path), fault.Str("mode", info.Mode().Perm().String()))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = NotSeed.With(fault.Str("path", path))
	}
	return text, err
}

// parse reads the one line. Errors quote nothing of it: whatever it is, it may be a secret.
func parse(text []byte) (seed [ed25519.SeedSize]byte, err error) {
	line := bytes.TrimSuffix(text, []byte("\n"))
	n, err := hex.Decode(make([]byte, len(line)/2), line)
	if err != nil || n != len(seed) || !bytes.Equal(line, bytes.ToLower(line)) {
		return seed, name(text)
	}
	_, err = hex.Decode(seed[:], line)
	return seed, err
}

// name returns the refusal of a file that holds no seed: what it is, where that can be told.
func name(text []byte) error {
	if bytes.HasPrefix(text, []byte("$NACL")) || bytes.HasPrefix(text, []byte("gAAAA")) || bytes.HasPrefix(text, []byte("$ANSIBLE_VAULT")) {
		return Encrypted.With()
	}
	var wallet struct {
		Secret  *string `json:"secretPhrase"`
		Seed    *string `json:"secretSeed"`
		Address *string `json:"ss58Address"`
		Crypto  any     `json:"cryptoType"` // the wallet's own number or word
		Encoded *string `json:"encoded"`    // a browser wallet's export, which is encrypted
	}
	if canon.Lenient(text, &wallet) != nil {
		return NotSeed.With()
	}
	switch {
	case wallet.Encoded != nil:
		return Encrypted.With()
	case wallet.Crypto == "ed25519" || wallet.Crypto == 0.0: // Substrate's numbers: 0 ed25519, 1 sr25519
		return Wallet.With()
	case wallet.Secret != nil || wallet.Seed != nil || wallet.Address != nil:
		return Sr25519.With() // what wallets make when nothing is said
	}
	return NotSeed.With()
}

// Create writes a new seed, taken from rand, to a file of mode 0600 that must not exist, and returns its signer. The file and
// its name are on disk when it returns.
func Create(path string, rand io.Reader) (sign.Signer, error) {
	var seed [ed25519.SeedSize]byte
	defer clear(seed[:])
	if _, err := io.ReadFull(rand, seed[:]); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, Exists.With(fault.Str("path", path))
	}
	if err != nil {
		return nil, err
	}
	line := hex.AppendEncode(nil, seed[:])
	defer clear(line)
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close(), syncDirectory(filepath.Dir(path))); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return sign.NewEd25519(seed), nil
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
