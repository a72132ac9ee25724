package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay/chain"
	"assay/chain/fake"
	"assay/conductor/profile"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/flow/conductor/keys"
	"assay/flow/conductor/submit"
	"assay/sign/file"
)

// submitFlags are the flags of a submission.
type submitFlags struct {
	bucket, hotkey, chain, reference, name string
	netuid                                 int
	key, recipient, cap                    string
	profile                                string
	json                                   bool
}

func newSubmit(env *Env) *cobra.Command {
	f := &submitFlags{}
	c := &cobra.Command{
		Use:   "submit TREE --bucket DIR --hotkey FILE --chain CHAIN --reference REF",
		Short: "Hand in an artifact: admit, hash, copy, commit",
		Long: `submit admits the model tree in folder TREE here, hashes every file, copies them into the bucket with their signed manifest last,
and commits the manifest's digest on the chain. A hotkey commits once for ever; what is committed is what is judged.

Anything that is cut off goes on when the same command is run again: files that lie in the bucket with the right size and digest
are not copied a second time, and a commitment is not made twice.

The commitment holds a place in the queue only with a funding record: --provider-key-file seals the key of your provider's account
for the owner, whose recipient the owner publishes, with the most that your arm may spend in a window.

Exit codes: 0 submitted, 1 failed, 2 usage, 3 the artifact or the hotkey is refused, 4 not ready: run it again.`,
		Example: `  assay conductor submit ./weights --bucket ./bucket --hotkey hotkey.seed --chain fake:chain.json --reference reference.json
  assay conductor submit ./weights --bucket ./bucket --hotkey hotkey.seed --chain fake:chain.json --reference reference.json \
    --name my-model --provider-key-file key --owner-recipient age1… --cap-usd 5`,
		Args: exactArgs("TREE"),
		RunE: func(c *cobra.Command, args []string) error { return runSubmit(c, env, f, args[0]) },
	}
	flags := c.Flags()
	flags.StringVar(&f.bucket, "bucket", "", "`DIR` that the owner reads artifacts from")
	flags.StringVar(&f.hotkey, "hotkey", "", "`FILE` with the hotkey's ed25519 seed; mode 0600")
	flags.StringVar(&f.chain, "chain", "", "the `CHAIN`: fake:FILE")
	flags.IntVar(&f.netuid, "netuid", 1, "`NUMBER` of the subnet")
	flags.StringVar(&f.reference, "reference", "", "`REF`: an inventory file or the folder of the reference tree")
	flags.StringVar(&f.name, "name", "", "public `NAME` of the model; default none")
	flags.StringVar(&f.key, "provider-key-file", "", "`FILE` with the key of your provider's account; mode 0600")
	flags.StringVar(&f.recipient, "owner-recipient", "", "the owner's `RECIPIENT`, age1…, that the key is sealed for")
	flags.StringVar(&f.cap, "cap-usd", "", "most `DOLLARS` that your arm may spend in a window")
	flags.StringVar(&f.profile, "profile", "strict", "`strict` or compat: how the rules are read")
	flags.BoolVar(&f.json, "json", false, "print the receipt as JSON")
	return c
}

// check refuses what is missing, before anything is opened.
func (f *submitFlags) check(c *cobra.Command) (profile.Profile, money.Pico, error) {
	for _, needed := range [][2]string{{"--bucket", f.bucket}, {"--hotkey", f.hotkey}, {"--chain", f.chain}, {"--reference", f.reference}} {
		if needed[1] == "" {
			return 0, 0, usage(c, needed[0]+" is missing")
		}
	}
	p, err := profile.Parse(f.profile)
	if err != nil {
		return 0, 0, usage(c, err.Error())
	}
	if given := f.key != "" || f.recipient != "" || f.cap != ""; !given {
		return p, 0, nil
	}
	if f.key == "" || f.recipient == "" || f.cap == "" {
		return 0, 0, usage(c, "--provider-key-file, --owner-recipient and --cap-usd belong together")
	}
	most, err := money.Parse(f.cap)
	if err != nil || most <= 0 {
		return 0, 0, usage(c, "--cap-usd is a number of dollars above zero")
	}
	return p, most, nil
}

func runSubmit(c *cobra.Command, env *Env, f *submitFlags, dir string) error {
	p, most, err := f.check(c)
	if err != nil {
		return err
	}
	signer, err := file.Open(f.hotkey)
	if err != nil {
		return fmt.Errorf("opening the hotkey: %w", err)
	}
	s := submit.Settings{Profile: p, Name: f.name, Signer: signer, Netuid: f.netuid}
	if s.Chain, err = openChain(c, f.chain, ss58.Encode(signer.Public())); err != nil {
		return err
	}
	if s.Reference, err = openReference(f.reference, p); err != nil {
		return err
	}
	tree, closer, err := openTree(dir)
	if err != nil {
		return fmt.Errorf("opening the model tree: %w", err)
	}
	defer closer.Close()
	s.Tree = tree
	if s.Bucket, err = submit.OpenBucket(f.bucket); err != nil {
		return err
	}
	defer s.Bucket.Close()
	if s.Funding, err = f.funding(signer, most); err != nil {
		return err
	}
	progress, done := byteProgress(env)
	s.Progress = progress
	r, err := submit.Submit(c.Context(), s)
	done()
	if err != nil {
		return f.explain(env, err)
	}
	if s.Funding == nil {
		if have, err := submit.Funding(s.Bucket, r.Ready.Registration, 1<<20); err == nil && have == nil {
			fmt.Fprintln(env.Err, "warning: without a funding record the commitment holds no place in the queue; run again with --provider-key-file")
		}
	}
	return printReceipt(env, r, f.json)
}

// funding returns what makes the funding record; nil where no key is given.
func (f *submitFlags) funding(signer sign.Signer, most money.Pico) (func(chain.Digest) ([]byte, error), error) {
	key, err := readSecret(f.key)
	if err != nil || f.key == "" {
		return nil, err
	}
	return func(registration chain.Digest) ([]byte, error) {
		return keys.Seal(f.recipient, keys.Funding{Registration: hex.EncodeToString(registration[:]), Cap: most, Key: key}, signer)
	}, nil
}

// explain lists all of a refusal's findings, and says what to do about other errors.
func (f *submitFlags) explain(env *Env, err error) error {
	var tree *submit.RefusedTree
	if errors.As(err, &tree) {
		return (&admitted{Findings: tree.Findings}).print(env, f.json)
	}
	switch fault.Of(err) {
	case chain.NotRegistered:
		return hinted(err, "register this hotkey on subnet "+fmt.Sprint(f.netuid)+" first; --netuid names another")
	case chain.Unconfirmed, chain.Unavailable:
		return hinted(err, "run the same command again: nothing is copied or committed twice")
	case submit.Changed, submit.Busy:
		return hinted(err, "run the same command again when nobody else writes")
	}
	return err
}

func printReceipt(env *Env, r *submit.Receipt, asJSON bool) error {
	id := hex.EncodeToString(r.Ready.Manifest[:])
	registration, signal := hex.EncodeToString(r.Ready.Registration[:]), chain.ReadySignal(r.Ready)
	m := r.Manifest
	if asJSON {
		return printJSON(env.Out, struct {
			Hotkey       string `json:"hotkey"`
			Registration string `json:"registration_id"`
			Manifest     string `json:"manifest_sha256"`
			ModelName    string `json:"model_name"`
			Signal       string `json:"signal"`
			Files        int    `json:"files"`
			Bytes        int64  `json:"bytes"`
			Sent         int    `json:"sent"`
			Skipped      int    `json:"skipped"`
			Already      bool   `json:"already_committed"`
		}{m.Hotkey(), registration, id, m.ModelName(), signal, len(m.Files()), m.Size(), r.Sent, r.Skipped, r.Already})
	}
	head := "submitted"
	if r.Already {
		head = "submitted before: the chain holds this commitment"
	}
	_, err := fmt.Fprintf(env.Out, "%s\n  hotkey        %s\n  registration  %s\n  manifest      %s\n  files         %d of %d bytes, %d copied, %d there already\n  signal        %s\n",
		head, m.Hotkey(), registration, id, len(m.Files()), m.Size(), r.Sent, r.Skipped, signal)
	return err
}

// openChain opens the chain that a flag names, as a hotkey.
func openChain(c *cobra.Command, spec, hotkey string) (chain.Client, error) {
	if name, ok := strings.CutPrefix(spec, "fake:"); ok && name != "" {
		return fake.New(name, hotkey), nil
	}
	return nil, usage(c, "--chain is fake:FILE")
}
