package submit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"

	"assay/chain"
	"assay/conductor/submission"
	"assay/core/fault"
	"assay/run/crash"
)

// compare returns what the manifest names and is not there, and what is there and not named. The manifest itself is nobody's
// extra, and the funding folder is none where it is tolerated. special is the first path that is no regular file.
func compare(objects []object, m *submission.Manifest, funding bool) (lacking, extra []string, special string) {
	named := map[string]bool{}
	for _, f := range m.Files() {
		named[f.Path] = true
	}
	there := map[string]bool{}
	for _, o := range objects {
		there[o.path] = true
		switch {
		case o.path == submission.ManifestName, funding && strings.HasPrefix(o.path, submission.FundingFolder+"/"):
		case !named[o.path]:
			extra = append(extra, o.path)
		case !o.mode.IsRegular() && special == "":
			special = o.path
		}
	}
	for _, f := range m.Files() {
		if !there[f.Path] {
			lacking = append(lacking, f.Path)
		}
	}
	return lacking, extra, special
}

// exact refuses a listing that is not exactly the manifest's files.
func exact(objects []object, m *submission.Manifest, funding bool) error {
	lacking, extra, special := compare(objects, m, funding)
	switch {
	case special != "":
		return Special.With(fault.Str("path", special))
	case len(extra) > 0:
		return Extra.With(fault.Str("path", extra[0]), fault.Int("objects", int64(len(extra))))
	case len(lacking) > 0:
		return Lacking.With(fault.Str("path", lacking[0]), fault.Int("objects", int64(len(lacking))))
	}
	return nil
}

// copying brings an artifact's files below a prefix.
type copying struct {
	from     fs.FS
	to       *Bucket
	prefix   string
	progress Progress
}

// all copies the files that are not there yet, several at a time. A file whose bytes are not the manifest's is refused.
func (c *copying) all(ctx context.Context, m *submission.Manifest) (sent, skipped int, err error) {
	files := m.Files()
	order := bySize(files)
	progress := tell(c.progress, "copying", m.Size())
	var copied atomic.Int64
	err = each(ctx, len(order), func(ctx context.Context, i int) error {
		f := files[order[i]]
		there, err := c.to.holds(ctx, c.prefix+f.Path, f, func(int64) {})
		if err != nil && fault.Of(err) != Changed {
			return err
		}
		if there {
			progress(f.Size)
			return nil
		}
		copied.Add(1)
		return c.one(ctx, f, progress)
	})
	return int(copied.Load()), len(files) - int(copied.Load()), err
}

func (c *copying) one(ctx context.Context, f submission.File, progress func(int64)) error {
	src, err := c.from.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Lacking.With(fault.Str("path", f.Path))
	}
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return Special.With(fault.Str("path", f.Path))
	}
	if info.Size() != f.Size {
		return Mismatch.With(fault.Str("path", f.Path), fault.Int("bytes", info.Size()), fault.Int("committed_bytes", f.Size))
	}
	return c.to.create(c.prefix+f.Path, func(w io.Writer) error {
		sum, err := hashTo(ctx, w, src, f.Path, f.Size, progress)
		if err == nil && sum != f.SHA256 {
			err = hashesTo(f.Path, sum, f.SHA256)
		}
		return err
	})
}

func hashesTo(path string, sum, want submission.Digest) error {
	return Mismatch.With(fault.Str("path", path), fault.Str("hashes to", hex.EncodeToString(sum[:])), fault.Str("committed", hex.EncodeToString(want[:])))
}

// Artifact is a copy that was checked as a whole.
type Artifact struct {
	Manifest *submission.Manifest
	Tree     fs.FS // its files and nothing else
}

// Fetching says whose artifact is fetched.
type Fetching struct {
	Bucket    *Bucket // the miners'
	Artifacts *Bucket // the owner's store
	Hotkey    string  // who committed
	Ready     chain.Ready
	Progress  Progress // may be nil
}

// Fetch copies a committed artifact into the owner's store and checks every byte of it. What was fetched before is not fetched
// again. See MinersFault for its errors.
func Fetch(ctx context.Context, f Fetching) (*Artifact, error) {
	have, err := Kept(f.Artifacts, f.Ready.Manifest)
	if err == nil {
		return have, f.belongs(have.Manifest)
	}
	if fault.Of(err) != NotKept {
		return nil, err
	}
	source := submissionPrefix(f.Ready.Registration)
	m, err := f.manifest(source)
	if err != nil {
		return nil, err
	}
	objects, err := f.Bucket.list(source)
	if err != nil {
		return nil, err
	}
	if err := exact(objects, m, true); err != nil {
		return nil, err
	}
	from, err := f.Bucket.tree(source)
	if err != nil {
		return nil, err
	}
	return keep(ctx, f.Artifacts, from, m, f.Progress)
}

// manifest reads the committed manifest.
func (f *Fetching) manifest(prefix string) (*submission.Manifest, error) {
	text, err := f.Bucket.read(prefix+submission.ManifestName, submission.MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Lacking.With(fault.Str("path", submission.ManifestName))
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); sum != f.Ready.Manifest {
		return nil, hashesTo(submission.ManifestName, sum, f.Ready.Manifest)
	}
	m, err := submission.Parse(text)
	if err != nil {
		return nil, err
	}
	return m, f.belongs(m)
}

// belongs refuses a manifest of somebody else: copied from another prefix, or from before a registration ended.
func (f *Fetching) belongs(m *submission.Manifest) error {
	if m.Hotkey() != f.Hotkey || m.Registration() != f.Ready.Registration {
		return Foreign.With(fault.Str("hotkey", m.Hotkey()), fault.Str("committed_by", f.Hotkey))
	}
	return nil
}

func artifactPrefix(manifest submission.Digest) string {
	return "artifacts/sha256/" + hex.EncodeToString(manifest[:]) + "/"
}

const treeFolder = "tree/"

// keep copies an artifact into the store, its manifest behind the files and the marker behind all.
func keep(ctx context.Context, b *Bucket, from fs.FS, m *submission.Manifest, progress Progress) (*Artifact, error) {
	id := m.Digest()
	prefix := artifactPrefix(id)
	unlock, err := b.lock(hex.EncodeToString(id[:]))
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := copying{from: from, to: b, prefix: prefix + treeFolder, progress: progress}
	if _, _, err := c.all(ctx, m); err != nil {
		return nil, err
	}
	if err := b.write(prefix+submission.ManifestName, m.Bytes()); err != nil {
		return nil, err
	}
	objects, err := b.list(prefix + treeFolder)
	if err != nil {
		return nil, err
	}
	if err := exact(objects, m, false); err != nil {
		return nil, Damaged.Because(err) // the store is the owner's: nobody else is to blame
	}
	crash.Point("fetch: before the marker")
	if err := b.write(prefix+submission.Marker, marker(id)); err != nil {
		return nil, err
	}
	return Kept(b, id)
}

func marker(manifest submission.Digest) []byte {
	return append(hex.AppendEncode(nil, manifest[:]), '\n')
}

// Kept returns the checked copy of an artifact, or NotKept.
func Kept(artifacts *Bucket, manifest submission.Digest) (*Artifact, error) {
	prefix := artifactPrefix(manifest)
	none := NotKept.With(fault.Str("manifest", hex.EncodeToString(manifest[:])))
	want := marker(manifest)
	text, err := artifacts.read(prefix+submission.Marker, int64(len(want)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Damaged.Because(err)
	}
	if string(text) != string(want) {
		return nil, none
	}
	text, err = artifacts.read(prefix+submission.ManifestName, submission.MaxManifest)
	if err != nil {
		return nil, Damaged.Because(err)
	}
	if sha256.Sum256(text) != manifest {
		return nil, Damaged.With(fault.Str("path", prefix+submission.ManifestName))
	}
	m, err := submission.Parse(text)
	if err != nil {
		return nil, err
	}
	tree, err := artifacts.tree(prefix + treeFolder)
	return &Artifact{m, tree}, err
}

// Funding returns the bytes of a registration's funding record, nil for none. What they say is not looked at.
func Funding(b *Bucket, registration chain.Digest, most int64) ([]byte, error) {
	text, err := b.read(FundingPath(registration), most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// ModelPrefix returns where a promoted artifact stands in the public bucket, with a slash at its end.
func ModelPrefix(manifest submission.Digest) string {
	return "models/sha256/" + hex.EncodeToString(manifest[:]) + "/"
}

// Promote copies a kept artifact to the public bucket and then checks what stands there, byte by byte, as anybody could. The
// artifact is public when it returns nil, and not before.
func Promote(ctx context.Context, artifacts, public *Bucket, manifest submission.Digest, progress Progress) error {
	a, err := Kept(artifacts, manifest)
	if err != nil {
		return err
	}
	unlock, err := public.lock("model-" + hex.EncodeToString(manifest[:]))
	if err != nil {
		return err
	}
	defer unlock()
	prefix := ModelPrefix(manifest)
	c := copying{from: a.Tree, to: public, prefix: prefix, progress: progress}
	if _, _, err := c.all(ctx, a.Manifest); err != nil {
		return err
	}
	crash.Point("promote: before the manifest")
	if err := public.write(prefix+submission.ManifestName, a.Manifest.Bytes()); err != nil {
		return err
	}
	crash.Point("promote: before the check")
	_, err = CheckModel(ctx, public, manifest, progress)
	return err
}

// CheckModel hashes a public model again: exactly the manifest's files, each with its digest.
func CheckModel(ctx context.Context, public *Bucket, manifest submission.Digest, progress Progress) (*submission.Manifest, error) {
	prefix := ModelPrefix(manifest)
	text, err := public.read(prefix+submission.ManifestName, submission.MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Lacking.With(fault.Str("path", submission.ManifestName))
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); sum != manifest {
		return nil, hashesTo(submission.ManifestName, sum, manifest)
	}
	m, err := submission.Parse(text)
	if err != nil {
		return nil, err
	}
	objects, err := public.list(prefix)
	if err != nil {
		return nil, err
	}
	if err := exact(objects, m, false); err != nil {
		return nil, err
	}
	files, order, report := m.Files(), bySize(m.Files()), tell(progress, "checking", m.Size())
	return m, each(ctx, len(order), func(ctx context.Context, i int) error {
		f := files[order[i]]
		ok, err := public.holds(ctx, prefix+f.Path, f, report)
		if err == nil && !ok {
			err = Mismatch.With(fault.Str("path", f.Path))
		}
		return err
	})
}

// Commitments returns the submissions among the chain's commitments, for the queue.
func Commitments(list []chain.Commitment) []submission.Commitment {
	out := []submission.Commitment{}
	for _, c := range list {
		if r, err := chain.ParseReady(c.Signal); err == nil {
			out = append(out, submission.Commitment{Hotkey: c.Hotkey, Block: c.Block, Registration: r.Registration, Manifest: r.Manifest})
		}
	}
	return out
}
