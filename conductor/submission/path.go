package submission

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/conductor"
	"assay/core/fault"
)

// Names that the bucket keeps for itself beside an artifact's files.
const (
	ManifestName  = "manifest.json" // written last
	FundingFolder = "openrouter"    // holds the funding record, which is no part of the artifact
	Marker        = ".verified"     // stands where every file was checked, written behind all else
)

// CheckPath refuses a path that no artifact may have: absolute, leaving its folder, spelled in two ways, unprintable, or kept
// by the bucket.
func CheckPath(path string) error {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case !fs.ValidPath(path) || path == ".":
		return badPath(path, "it is empty, absolute, or holds an empty, . or .. part")
	case len(path) > MaxPath:
		return badPath(path, "it is too long")
	case !utf8.ValidString(path) || strings.IndexFunc(path, unprintable) >= 0 || strings.Contains(path, `\`):
		return badPath(path, "it holds a backslash or an unprintable character")
	case path == ManifestName || first == FundingFolder || first == Marker:
		return badPath(path, "the bucket keeps this name for itself")
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func badPath(path, why string) error {
	return conductor.BadPath.With(fault.Str("path", path), fault.Str("why", why))
}

// checkFiles sorts files by path and refuses paths, sizes and numbers of files that no manifest may hold.
func checkFiles(files []File) error {
	if len(files) == 0 || len(files) > MaxFiles {
		return conductor.BadManifest.With(fault.Int("files", int64(len(files))), fault.Int("max_files", MaxFiles))
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	folders := map[string]bool{}
	var total int64
	for i, f := range files {
		if err := CheckPath(f.Path); err != nil {
			return err
		}
		if i > 0 && files[i-1].Path == f.Path {
			return badPath(f.Path, "it stands twice")
		}
		if f.Size < 0 || f.Size > maxSize-total {
			return conductor.BadManifest.With(fault.Str("path", f.Path), fault.Int("size", f.Size))
		}
		total += f.Size
		for i, c := range []byte(f.Path) {
			if c == '/' {
				folders[f.Path[:i]] = true
			}
		}
	}
	for _, f := range files {
		if folders[f.Path] {
			return badPath(f.Path, "another path takes it for a folder")
		}
	}
	return nil
}
