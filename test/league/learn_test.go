package league_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"assay/flow/conductor/learn"
)

// Rows of training data say what was shown, said and gained, and what would have been best: with one cheap model that is wrong
// and one dear one that is right, the dear one is worth 1 - 0.5 and the cheap one 0 - 0.05.
func TestTracesBecomeTrainingData(t *testing.T) {
	s := tiny(t, "constant s/s")
	s.must("conductor", "export", "owner/public", "--arm", "king", "-o", "king.jsonl")
	text, err := os.ReadFile(filepath.Join(s.dir, "king.jsonl"))
	must(t, err)
	var rows []learn.Row
	for line := range strings.Lines(string(text)) {
		var r learn.Row
		must(t, json.Unmarshal([]byte(line), &r))
		rows = append(rows, r)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	asks, stops := rows[0], rows[1]
	if asks.Turn != "DELEGATE c/c" || asks.Action != "delegate" || asks.Model != "c/c" || asks.Best != "DELEGATE s/s" || !near(asks.Gain, .5) || !near(asks.Regret, .55) ||
		asks.Cost != .001 || asks.Success || !strings.Contains(asks.Prompt, "# HISTORY\n(no steps yet)") {
		t.Errorf("%+v", asks)
	}
	if stops.Action != "stop" || stops.Best != "DELEGATE s/s" || !near(stops.Regret, .5) || stops.Before != .001 || !strings.Contains(stops.Prompt, "step 1: DELEGATE c/c -> failed") {
		t.Errorf("%+v", stops)
	}
	s.must("conductor", "export", "owner/public", "--arm", "king", "--format", "parquet", "-o", "king.parquet")
	again, err := parquet.ReadFile[learn.Row](filepath.Join(s.dir, "king.parquet"))
	must(t, err)
	if len(again) != len(rows) || again[0] != rows[0] || again[3] != rows[3] {
		t.Errorf("parquet holds %+v", again)
	}
	chat := s.must("conductor", "export", "owner/public", "--arm", "king", "--format", "chat", "--target", "best")
	var first struct {
		Messages []struct{ Role, Content string } `json:"messages"`
	}
	line, _, _ := strings.Cut(chat, "\n")
	must(t, json.Unmarshal([]byte(line), &first))
	if len(first.Messages) != 2 || first.Messages[0].Role != "user" || first.Messages[0].Content != asks.Prompt ||
		first.Messages[1].Role != "assistant" || first.Messages[1].Content != "DELEGATE s/s" {
		t.Errorf("%+v", first)
	}
}

// A Conductor is asked the prompts of a trace; one that answers as the trace did agrees everywhere and has its regret.
func TestReplay(t *testing.T) {
	s := tiny(t, "constant s/s")
	var v struct {
		All struct {
			Steps, Agree, Known int
			Regret              float64
			YourRegret          float64 `json:"your_regret"`
		}
	}
	replay := func(who string) {
		out := s.must("conductor", "replay", "owner/public", "--arm", "king", "--conductor", who, "--json")
		must(t, json.Unmarshal([]byte(out), &v))
	}
	replay("builtin:always-cheapest")
	if v.All.Steps != 4 || v.All.Agree != 4 || v.All.Known != 4 || v.All.Regret != v.All.YourRegret {
		t.Errorf("%+v", v)
	}
	replay("builtin:always-strongest")
	if v.All.Agree != 2 || v.All.Regret-v.All.YourRegret < .2 {
		t.Errorf("%+v", v)
	}
}

// A dev kit's trace file is a source too, with the world that it was played on.
func TestADevKitsTraceIsASource(t *testing.T) {
	s := &stage{t: t, bin: build(t, ""), dir: t.TempDir()}
	s.must("conductor", "dev", "--conductor", "builtin:cascade", "--trace", "t.jsonl")
	out := s.must("conductor", "export", "t.jsonl", "-o", "rows.jsonl")
	if !strings.Contains(out, " rows\n") || strings.HasPrefix(out, "0 rows") {
		t.Error(out)
	}
	if out := s.must("conductor", "replay", "t.jsonl", "--conductor", "builtin:cascade"); !strings.Contains(out, "(100.0%)") {
		t.Error(out)
	}
	if out, err := s.run(nil, "conductor", "export", "t.jsonl", "--format", "parquet"); err == nil || !strings.Contains(out, "name it with -o") {
		t.Error(out)
	}
}
