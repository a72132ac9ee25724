package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assay/conductor/task"
	"assay/conductor/worker"
	"assay/core/secret"
	"assay/flow/conductor/devkit"
	"assay/flow/conductor/play"
	"assay/llm/openai"
	"assay/run"
)

const addedLimit = 300 * time.Microsecond

// reply is what the loopback worker answers: right, with a cost, at once.
const reply = `{"id":"x","model":"m","provider":"loopback","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Answer: A"}}],` +
	`"usage":{"prompt_tokens":100,"completion_tokens":10,"cost":0.000001}}`

// added measures what a routed step takes beyond calling a loopback worker directly, with a durable trace.
func added(ctx context.Context, dir string, pairs int) error {
	st, err := newStage(40, 3)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, reply)
	})}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	base := "http://" + ln.Addr().String() + "/v1"
	for _, width := range []int{1, 16} {
		if err := addedAt(ctx, dir, st, base, width, pairs); err != nil {
			return err
		}
	}
	return nil
}

func addedAt(ctx context.Context, dir string, st *devkit.Stage, base string, width, pairs int) error {
	var routed, direct, sync, beyond []time.Duration
	var syncsPerStep float64
	for i := range pairs {
		r, syncs, err := routedSteps(ctx, filepath.Join(dir, fmt.Sprintf("journal-%d-%d", width, i)), st, base, width)
		if err != nil {
			return err
		}
		d, err := directCalls(ctx, st, base, width)
		if err != nil {
			return err
		}
		f, err := rawSync(filepath.Join(dir, "sync"))
		if err != nil {
			return err
		}
		routed, direct, sync = append(routed, r), append(direct, d), append(sync, f)
		beyond = append(beyond, r-d-time.Duration(syncs*float64(f)))
		syncsPerStep = syncs
	}
	r, d, f, x := median(routed), median(direct), median(sync), median(beyond)
	limit := ""
	if width == 1 {
		limit = fmt.Sprintf(" (limit %v: %s)", addedLimit, verdict(float64(x), float64(addedLimit)))
	}
	fmt.Printf("routed step with durable trace, %d in flight: %v; direct call %v; raw fsync %v, %.2f of them a step; beyond call and fsyncs: %v%s\n",
		width, r.Round(time.Microsecond), d.Round(time.Microsecond), f.Round(time.Microsecond), syncsPerStep, x.Round(time.Microsecond), limit)
	return nil
}

// routedSteps plays the slice live with a journal and returns the time for each routed step and the fsyncs it took.
func routedSteps(ctx context.Context, journal string, st *devkit.Stage, base string, width int) (time.Duration, float64, error) {
	client, err := openai.New(openai.Worker(base, secret.Value{}))
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	j, err := run.OpenJournal(journal)
	if err != nil {
		return 0, 0, err
	}
	defer j.Close()
	a := newArm(st, width)
	a.Workers, a.Journal, a.ID, a.Paid = play.Live{Client: client}, j, "bench", true
	before := j.Syncs()
	began := time.Now()
	results, err := a.Run(ctx, st.Slice)
	took := time.Since(began)
	if err != nil {
		return 0, 0, err
	}
	n := 0
	for _, r := range results {
		for _, s := range r.Steps {
			if s.Model != "" {
				n++
			}
		}
	}
	return took / time.Duration(n) * time.Duration(width), float64(j.Syncs()-before) / float64(n) * float64(width), nil
}

// directCalls makes the same calls with net/http alone.
func directCalls(ctx context.Context, st *devkit.Stage, base string, width int) (time.Duration, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: width}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	jobs := make(chan task.Pinned)
	errs := make(chan error, width)
	calls := 2 * len(st.Slice)
	model, _ := st.Snapshot.Lookup(st.Snapshot.At(0).ID)
	began := time.Now()
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for t := range jobs {
				if err := directCall(ctx, client, base, worker.NewRequest(t, model).Body()); err != nil {
					errs <- err
					for range jobs { // let the sender finish
					}
					return
				}
			}
		})
	}
	for i := range calls {
		jobs <- st.Slice[i%len(st.Slice)]
	}
	close(jobs)
	wg.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
	}
	return time.Since(began) / time.Duration(calls) * time.Duration(width), nil
}

func directCall(ctx context.Context, client *http.Client, base string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// rawSync returns the median time of writing a line and syncing it.
func rawSync(name string) (time.Duration, error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	line := bytes.Repeat([]byte("x"), 300)
	var each []time.Duration
	for range 41 {
		began := time.Now()
		if _, err := f.Write(line); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		each = append(each, time.Since(began))
	}
	return median(each), nil
}
