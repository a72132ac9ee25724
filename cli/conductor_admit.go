package cli

import (
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/conductor/submission"
	"assay/core/text"
	"assay/flow/conductor/submit"
	"assay/view"
)

func newAdmit(env *Env) *cobra.Command {
	var reference, profileName string
	var hash, asJSON bool
	c := &cobra.Command{
		Use:   "admit TREE --reference REF",
		Short: "Say everything for which an artifact would be refused",
		Long: `admit judges the model tree in folder TREE by the rules that the owner admits by, and lists every finding of one pass, the first
of which is the owner's refusal. Names are judged before a file is opened, and of weight files only the headers are read, so it
takes moments whatever the size. Nothing is written.

REF is an inventory that 'assay conductor reference build' wrote, or the folder of the reference tree. With --hash every file is
hashed as well, on all cores, and the tree digest of the manifest is printed.

Exit codes: 0 admitted, 1 cannot be read, 2 usage, 3 refused.`,
		Example: `  assay conductor reference build ./reference -o reference.json
  assay conductor admit ./weights --reference reference.json
  assay conductor admit ./weights --reference ./reference --hash --json`,
		Args: exactArgs("TREE"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := profile.Parse(profileName)
			if err != nil {
				return usage(c, err.Error())
			}
			if reference == "" {
				return usage(c, "--reference is missing")
			}
			ref, err := openReference(reference, p)
			if err != nil {
				return err
			}
			tree, closer, err := openTree(args[0])
			if err != nil {
				return fmt.Errorf("opening the model tree: %w", err)
			}
			defer closer.Close()
			found, err := admission.Findings(tree, ref, p)
			if err != nil {
				return fmt.Errorf("reading the model tree: %w", err)
			}
			out := admitted{Admitted: len(found) == 0, Findings: found}
			if hash {
				if err := out.hash(c, env, tree); err != nil {
					return fmt.Errorf("hashing the model tree: %w", err)
				}
			}
			return out.print(env, asJSON)
		},
	}
	flags := c.Flags()
	flags.StringVar(&reference, "reference", "", "`REF`: an inventory file or the folder of the reference tree")
	flags.StringVar(&profileName, "profile", "strict", "`strict` or compat: how the rules are read")
	flags.BoolVar(&hash, "hash", false, "hash every file too, and print the tree digest")
	flags.BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return c
}

// admitted is the answer about a tree.
type admitted struct {
	Admitted bool                `json:"admitted"`
	Findings []admission.Finding `json:"findings"`
	Files    []hashedFile        `json:"files,omitempty"`       // with --hash
	Tree     string              `json:"tree_digest,omitempty"` // with --hash
}

type hashedFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (a *admitted) hash(c *cobra.Command, env *Env, tree fs.FS) error {
	progress, done := byteProgress(env)
	files, err := submit.HashTree(c.Context(), tree, progress)
	done()
	if err != nil {
		return err
	}
	for _, f := range files {
		a.Files = append(a.Files, hashedFile{f.Path, f.Size, hex.EncodeToString(f.SHA256[:])})
	}
	sum := submission.TreeDigest(files)
	a.Tree = hex.EncodeToString(sum[:])
	return nil
}

// print writes the answer, and ends the command as refused where the tree is.
func (a *admitted) print(env *Env, asJSON bool) error {
	if asJSON {
		if err := printJSON(env.Out, a); err != nil {
			return err
		}
	} else if err := a.writeText(env.Out); err != nil {
		return err
	}
	if !a.Admitted {
		return refused()
	}
	return nil
}

func (a *admitted) writeText(w io.Writer) error {
	for _, f := range a.Findings {
		if _, err := fmt.Fprintln(w, text.Clean(f.Text, 400)); err != nil {
			return err
		}
	}
	for _, f := range a.Files {
		if _, err := fmt.Fprintf(w, "%s %12d %s\n", f.SHA256, f.Size, text.Clean(f.Path, 600)); err != nil {
			return err
		}
	}
	if a.Tree != "" {
		if _, err := fmt.Fprintf(w, "tree digest %s\n", a.Tree); err != nil {
			return err
		}
	}
	last := "ADMISSION: admitted"
	if !a.Admitted {
		last = "ADMISSION: refused, " + view.Counted(len(a.Findings), "finding")
	}
	_, err := fmt.Fprintln(w, last)
	return err
}

// maxReference is the longest inventory in bytes.
const maxReference = 64 << 20

// openReference reads an inventory, or takes one from a reference tree.
func openReference(name string, p profile.Profile) (*admission.Reference, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("opening the reference: %w", err)
	}
	if info.IsDir() {
		tree, closer, err := openTree(name)
		if err != nil {
			return nil, fmt.Errorf("opening the reference: %w", err)
		}
		defer closer.Close()
		ref, err := admission.ReadReference(tree, p)
		if err != nil {
			return nil, &exitError{ExitFailed, "", fmt.Errorf("reading the reference: %w", err)} // not the judged tree's refusal
		}
		return ref, nil
	}
	if !info.Mode().IsRegular() || info.Size() > maxReference {
		return nil, fmt.Errorf("%s is neither a folder nor an inventory of at most %d bytes", name, int64(maxReference))
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("opening the reference: %w", err)
	}
	ref, err := admission.ParseReference(b)
	return ref, hinted(err, "'assay conductor reference build TREE -o FILE' writes one; a folder is taken as the reference tree itself")
}

// byteProgress draws a bar for each kind of work on a terminal, and is nil elsewhere.
func byteProgress(env *Env) (p submit.Progress, done func()) {
	if !env.Terminal {
		return nil, func() {}
	}
	var mu sync.Mutex
	var bar *progressbar.ProgressBar
	var doing string
	finish := func() {
		if bar != nil {
			_ = bar.Finish() // a bar that cannot be drawn is no reason to stop
		}
		bar = nil
	}
	p = func(what string, n, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if bar == nil || what != doing {
			finish()
			doing = what
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(env.Err), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
				progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
		}
		_ = bar.Add64(n)
	}
	return p, func() { mu.Lock(); defer mu.Unlock(); finish() }
}
