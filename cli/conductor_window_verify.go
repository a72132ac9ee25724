package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/verify/audit"
)

func newWindowVerify(env *Env) *cobra.Command {
	f := &auditFlags{}
	c := &cobra.Command{
		Use:   "verify DIR --window N",
		Short: "Check a published window's record before anything of it is revealed",
		Long: `verify checks in the publication in folder DIR that a window's slice follows from the committed schedule, the pool, the nonce and what
earlier windows revealed, and that its rules are the committed ones. Compare the schedule's root and the nonce with the chain yourself: the
chain holds the one as a commitment, the other as the hash of the block that opens the window.

Exit codes: 0 it follows, 1 failed, 2 usage, 3 it does not.`,
		Example: "  assay conductor window verify ./public --window 3 --key example.com/conductor+20b6a00a+AQYd…",
		Args:    exactArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			fsys, root, err := openPublication(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer root.Close()
			key, err := pinnedKey(c, env, f.key, fsys)
			if err != nil {
				return err
			}
			w, nonce, schedule, err := audit.Opening(fsys, key, f.window)
			if err != nil {
				return auditFailed(c.Context(), env, f, err)
			}
			if f.json {
				return printJSON(env.Out, struct {
					Holds  bool     `json:"holds"`
					Window int64    `json:"window"`
					Tasks  int      `json:"tasks"`
					Nonce  string   `json:"nonce"`
					Root   string   `json:"schedule_root"`
					Notes  []string `json:"notes"`
				}{true, w.Window, w.Tasks, nonce, schedule, w.Notes})
			}
			_, err = fmt.Fprintf(env.Out, "HOLDS: window %d draws %d tasks by nonce %s under schedule:v1:%s\n", w.Window, w.Tasks, nonce, schedule)
			return err
		},
	}
	c.Flags().StringVar(&f.key, "key", "", "the owner's verifier `KEY`")
	c.Flags().Int64Var(&f.window, "window", 1, "`NUMBER` of the window")
	c.Flags().BoolVar(&f.json, "json", false, "print the result as JSON")
	return c
}
