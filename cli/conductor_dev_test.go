package cli_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/cli"
)

// assay runs a command line and returns its exit code and what it wrote.
func assay(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(context.Background(), &cli.Env{In: strings.NewReader(""), Out: &o, Err: &e, Now: time.Now}, args)
	return code, o.String(), e.String()
}

func TestBehaviourY1_ATreeNeedsItsReference(t *testing.T) {
	code, out, errs := assay(t, "thirtyspokes-dev", "--model-tree", t.TempDir())
	if code != cli.ExitUsage || out != "" || !strings.Contains(errs, "needs --reference") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestBehaviourY2_ARefusedTreeIsScoredNowhere(t *testing.T) {
	tree, ref := t.TempDir(), reference(t)
	if err := os.WriteFile(filepath.Join(tree, "pytorch_model.BIN"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"thirtyspokes-dev": cli.ExitFailed, "assay": cli.ExitRefused} {
		args := []string{name, "--model-tree", tree, "--reference", ref}
		if name == "assay" {
			args = append([]string{name, "conductor", "dev"}, args[1:]...)
		}
		code, out, _ := assay(t, args...)
		if code != want || out != "ADMISSION: pickle archive refused: pytorch_model.BIN\n" {
			t.Errorf("%s: exit %d, want %d, %q", name, code, want, out)
		}
	}
}

// reference writes a tree that is its own reference.
func reference(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	weights := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
	for name, b := range map[string][]byte{
		"config.json": []byte(`{"model_type":"toy"}`), "tokenizer.json": []byte("{}"), "tokenizer_config.json": []byte("{}"),
		"model.safetensors": append(weights, 0, 0, 0, 0),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBehaviourV8_AnEndpointThatDoesNotListTheModelIsNotReady(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			asked++
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"id":"other\u001b[31m"}]}`))
	}))
	defer s.Close()
	code, out, errs := assay(t, "assay", "conductor", "dev", "--conductor", s.URL+"/v1", "--conductor-model", "mine")
	if code != cli.ExitNotReady || out != "" || !strings.Contains(errs, `does not list the model "mine"`) || asked != 0 {
		t.Errorf("exit %d after %d prompts, %q, %q", code, asked, out, errs)
	}
	if strings.Contains(errs, "\x1b") {
		t.Errorf("a name from the endpoint reaches the terminal as it is: %q", errs)
	}
}
