package tiny

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json"

	"assay/core/money"
)

// The JSON of replies.

type replyBody struct {
	ID       string       `json:"id"`
	Object   string       `json:"object"`
	Created  int64        `json:"created"` // always 0: a reply is a function of its request
	Model    string       `json:"model"`
	Provider string       `json:"provider"`
	Choices  []replyEntry `json:"choices"`
	Usage    *replyUsage  `json:"usage,omitempty"`
}

type replyEntry struct {
	Index    int           `json:"index"`
	Finish   *string       `json:"finish_reason"`
	Text     *string       `json:"text,omitempty"`
	Message  *replyMessage `json:"message,omitempty"`
	Delta    *replyMessage `json:"delta,omitempty"`
	Logprobs any           `json:"logprobs"`
}

type replyMessage struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

type replyUsage struct {
	Prompt     int      `json:"prompt_tokens"`
	Completion int      `json:"completion_tokens"`
	Total      int      `json:"total_tokens"`
	Cost       *float64 `json:"cost,omitempty"` // dollars
}

type completionLogprobs struct {
	Tokens  []string             `json:"tokens"`
	Logps   []float64            `json:"token_logprobs"`
	Top     []map[string]float64 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"`
}

type chatLogprobs struct {
	Content []chatToken `json:"content"`
}

type chatToken struct {
	Token string      `json:"token"`
	Logp  float64     `json:"logprob"`
	Bytes []int       `json:"bytes"`
	Top   []chatToken `json:"top_logprobs,omitempty"`
}

// head starts a reply. Its id is made of the request, so that equal requests have equal replies.
func (p *params) head(body []byte) replyBody {
	sum := sha256.Sum256(body)
	r := replyBody{ID: "tiny-" + hex.EncodeToString(sum[:12]), Model: p.model.Name, Provider: "assay", Object: "text_completion"}
	switch {
	case p.chat && p.stream:
		r.Object = "chat.completion.chunk"
	case p.chat:
		r.Object = "chat.completion"
	}
	return r
}

// whole is the reply of a request that does not stream.
func (p *params) whole(body []byte, text string, tokens []spoken, o outcome) ([]byte, error) {
	r := p.head(body)
	e := replyEntry{Finish: &o.finish, Logprobs: p.chancesOf(tokens, 0)}
	if p.chat {
		e.Message = &replyMessage{"assistant", text}
	} else {
		e.Text = &text
	}
	r.Choices, r.Usage = []replyEntry{e}, p.used(o)
	return json.Marshal(r)
}

// chunk is one event of a stream.
func (p *params) chunk(body []byte, text string, tokens []spoken, offset int, finish *string) ([]byte, error) {
	r := p.head(body)
	e := replyEntry{Finish: finish, Logprobs: p.chancesOf(tokens, offset)}
	if p.chat {
		e.Delta = &replyMessage{Content: text}
		if offset == 0 {
			e.Delta.Role = "assistant"
		}
	} else {
		e.Text = &text
	}
	r.Choices = []replyEntry{e}
	return json.Marshal(r)
}

// bill is the last event of a stream that asked for usage: it has no choice.
func (p *params) bill(body []byte, o outcome) ([]byte, error) {
	r := p.head(body)
	r.Choices, r.Usage = []replyEntry{}, p.used(o)
	return json.Marshal(r)
}

func (p *params) used(o outcome) *replyUsage {
	u := &replyUsage{Prompt: len(p.prompt), Completion: o.tokens, Total: len(p.prompt) + o.tokens}
	if p.cost {
		cost := money.Tokens(int64(u.Prompt), p.model.In).Plus(money.Tokens(int64(u.Completion), p.model.Out)).Dollars()
		u.Cost = &cost
	}
	return u
}

// chancesOf returns the log-probabilities in the form of the endpoint, or nil where none were asked for.
func (p *params) chancesOf(tokens []spoken, offset int) any {
	switch {
	case !p.logprobs:
		return nil
	case p.chat:
		c := chatLogprobs{Content: []chatToken{}}
		for _, t := range tokens {
			row := chatChance(choice{t.token, t.logp})
			for _, alt := range t.top {
				row.Top = append(row.Top, chatChance(alt))
			}
			c.Content = append(c.Content, row)
		}
		return c
	}
	c := completionLogprobs{Tokens: []string{}, Logps: []float64{}, Top: []map[string]float64{}, Offsets: []int{}}
	for i, t := range tokens {
		c.Tokens, c.Logps, c.Offsets = append(c.Tokens, tokenText(t.token)), append(c.Logps, t.logp), append(c.Offsets, offset+i)
		top := map[string]float64{}
		for _, alt := range t.top {
			top[tokenText(alt.token)] = alt.logp
		}
		c.Top = append(c.Top, top)
	}
	return c
}

func chatChance(c choice) chatToken {
	t := chatToken{Token: tokenText(c.token), Logp: c.logp, Bytes: []int{}}
	if c.token >= firstByte {
		t.Bytes = append(t.Bytes, c.token-firstByte)
	}
	return t
}

// tokenText names a token: an ASCII byte by itself, any other by its number, the special ones by their names.
func tokenText(token int) string {
	switch {
	case token < firstByte:
		return [firstByte]string{"<unk>", "<s>", "</s>"}[token]
	case token-firstByte < 0x80:
		return string(rune(token - firstByte))
	}
	return "bytes:\\x" + strconv.FormatInt(int64(token-firstByte), 16)
}

func (r *refusal) body() []byte {
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	b, err := json.Marshal(struct {
		Error object `json:"error"`
	}{object{r.message, r.kind, nil, r.code}})
	if err != nil {
		panic("tiny: an error object that is no JSON: " + err.Error())
	}
	return b
}
