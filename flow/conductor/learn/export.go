package learn

import (
	"bufio"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"assay/conductor/state"
	"assay/core/fault"
)

// Format is a form of training data.
type Format string

// The formats.
const (
	JSONL   Format = "jsonl"   // one Row a line
	Chat    Format = "chat"    // one {"messages":[user, assistant]} a line, as fine-tuning tools read it
	Parquet Format = "parquet" // one Row a row, zstd
)

// Target is what the assistant says in Chat.
type Target string

// The targets.
const (
	Spoken Target = "spoken" // the turn that was said
	Best   Target = "best"   // the best action in hindsight
)

// Options choose what is exported.
type Options struct {
	Format         Format
	Target         Target
	Arm            string // "" exports all arms
	KeepUnreadable bool   // turns that could not be read are training data too; by default they are left out of Chat
}

// Exported says how much was written, and what was left out.
type Exported struct {
	Rows, Unreadable int
}

// BadFormat refuses a format or target that is none.
var BadFormat = fault.NewCode("learn.bad_format", fault.Invalid, "a format is jsonl, chat or parquet, a target spoken or best")

// message is one message of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chatRow is one conversation, with where it comes from beside it.
type chatRow struct {
	Messages []message `json:"messages"`
	Window   int64     `json:"window"`
	Arm      string    `json:"arm"`
	Task     string    `json:"task_id"`
	Step     int64     `json:"step"`
	Score    float64   `json:"score"`
	Cost     float64   `json:"cost_usd"`
	Regret   float64   `json:"regret"`
}

// rowGroup is how many rows a parquet file's groups hold.
const rowGroup = 1 << 14

// Export writes the steps of all sets to w.
func Export(w io.Writer, sets []*Set, o Options) (Exported, error) {
	var out Exported
	write, end, err := writer(w, o, &out)
	if err != nil {
		return out, err
	}
	for _, s := range sets {
		for _, arm := range s.Arms {
			if o.Arm != "" && arm != o.Arm {
				continue
			}
			if err := s.Rows(arm, func(r Row, _ state.Prompt) error { return write(r) }); err != nil {
				return out, err
			}
		}
	}
	return out, end()
}

// writer returns what takes rows, and what ends them.
func writer(w io.Writer, o Options, out *Exported) (func(Row) error, func() error, error) {
	if o.Target != Spoken && o.Target != Best {
		return nil, nil, BadFormat.With(fault.Str("target", string(o.Target)))
	}
	switch o.Format {
	case JSONL, Chat:
		b := bufio.NewWriterSize(w, 1<<18)
		line := func(v any) error {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("writing a row: %w", err)
			}
			out.Rows++
			_, err = b.Write(append(text, '\n'))
			return err
		}
		if o.Format == JSONL {
			return func(r Row) error { return line(r) }, b.Flush, nil
		}
		return func(r Row) error {
			if r.ParseFailure != "" && !o.KeepUnreadable && o.Target == Spoken {
				out.Unreadable++
				return nil
			}
			return line(chat(r, o.Target))
		}, b.Flush, nil
	case Parquet:
		p := parquet.NewGenericWriter[Row](w, parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("assay", "1", ""))
		return func(r Row) error {
			out.Rows++
			if _, err := p.Write([]Row{r}); err != nil {
				return fmt.Errorf("writing a row: %w", err)
			}
			if out.Rows%rowGroup == 0 {
				return p.Flush()
			}
			return nil
		}, p.Close, nil
	}
	return nil, nil, BadFormat.With(fault.Str("format", string(o.Format)))
}

func chat(r Row, t Target) chatRow {
	said := r.Turn
	if t == Best {
		said = r.Best
	}
	return chatRow{
		Messages: []message{{"user", r.Prompt}, {"assistant", said}}, Window: r.Window, Arm: r.Arm, Task: r.Task, Step: r.Step,
		Score: r.Score, Cost: r.Cost, Regret: r.Regret,
	}
}
