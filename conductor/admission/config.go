package admission

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"assay/core/canon"
)

const configName = "config.json"

// customKeys let a loader run code that comes with the weights.
var customKeys = []string{"auto_map", "custom_pipelines", "trust_remote_code"}

// topFields are looked up at the top of the config only.
var topFields = []string{"model_type", "architectures"}

// blockFields are looked up in every block.
var blockFields = []string{
	"num_hidden_layers", "hidden_size", "intermediate_size", "moe_intermediate_size", "num_attention_heads",
	"num_key_value_heads", "head_dim", "num_experts", "num_experts_per_tok", "vocab_size", "max_position_embeddings",
	"rope_theta", "rope_scaling", "rope_type", "partial_rotary_factor", "mrope_section",
}

// config reads config.json and compares the fields that fix the architecture.
func (s *survey) config() error {
	if !s.has(configName) {
		return s.refuse(ConfigMissing, "", "config.json is missing")
	}
	text, size, err := s.readFile(configName, s.bounds.configBytes)
	if err != nil {
		return err
	}
	if text == nil {
		return s.refuse(OversizedFile, configName, fmt.Sprintf("config.json has %d bytes; at most %d are read", size, s.bounds.configBytes))
	}
	config, err := ParseConfig(text)
	if err != nil {
		return s.refuse(ConfigNotJSON, "", "config.json is not a JSON object")
	}
	for _, key := range customCode(config, false) {
		if err := s.refuse(CustomCodeConfig, key, "custom-code config refused: "+key); err != nil {
			return err
		}
	}
	s.read.Config = Fields(config)
	if err := s.compareConfig(equalNumbers); err != nil {
		return err
	}
	if s.strict() {
		return s.strictConfig(text, config)
	}
	return nil
}

// strictConfig refuses what the reference overlooks.
func (s *survey) strictConfig(text []byte, config canon.Object) error {
	if _, err := canon.Decode(text); err != nil {
		if err := s.refuse(DuplicateKey, configName, "config.json names a member twice"); err != nil {
			return err
		}
	}
	inner := customCode(config, true)
	for _, key := range inner[len(customCode(config, false)):] {
		if err := s.refuse(CustomCodeConfig, key, "custom-code config refused: "+key+" inside a list"); err != nil {
			return err
		}
	}
	return s.compareConfig(equalTypes)
}

// compareConfig compares the fields over both sides in the order of their names. The second, stricter comparison
// reports only what the first let pass.
func (s *survey) compareConfig(equal func(a, b any) bool) error {
	if s.ref == nil {
		return nil
	}
	keys := make([]string, 0, len(s.read.Config)+len(s.ref.Config))
	for k := range s.read.Config {
		keys = append(keys, k)
	}
	for k := range s.ref.Config {
		if _, both := s.read.Config[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		got, here := s.read.Config[k]
		want, there := s.ref.Config[k]
		if here && there && equal(got, want) || s.mismatched(k) {
			continue
		}
		text := fmt.Sprintf("architecture mismatch: %s is %s, the reference has %s", k, showValue(got, here), showValue(want, there))
		if err := s.refuse(ArchitectureMismatch, k, text); err != nil {
			return err
		}
	}
	return nil
}

func (s *survey) mismatched(field string) bool {
	return slices.ContainsFunc(s.found, func(f Finding) bool { return f.Kind == ArchitectureMismatch && f.Subject == field })
}

// ParseConfig reads a config.json: a JSON object, of whose equal keys the last counts.
func ParseConfig(text []byte) (canon.Object, error) {
	v, err := canon.DecodeLast(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(canon.Object)
	if !ok {
		return nil, canon.WrongType.With()
	}
	return o, nil
}

// Fields returns the architectural fields of a config, keyed by their block: "model_type", "text_config.num_experts",
// "text_config.rope_parameters.rope_theta".
func Fields(config canon.Object) map[string]any {
	out := map[string]any{}
	pick := func(block canon.Object, prefix string, fields []string) {
		for _, f := range fields {
			if v, ok := block[f]; ok {
				out[prefix+f] = v
			}
		}
	}
	pick(config, "", topFields)
	pick(config, "", blockFields)
	text, _ := config["text_config"].(canon.Object)
	pick(text, "text_config.", blockFields)
	rope, _ := text["rope_parameters"].(canon.Object)
	pick(rope, "text_config.rope_parameters.", blockFields)
	return out
}

// customCode returns the custom-code keys of v, sorted by depth-first path. With lists, those found only inside lists
// follow the others.
func customCode(v canon.Object, lists bool) []string {
	var plain, inLists []string
	var visit func(v any, inList bool)
	visit = func(v any, inList bool) {
		switch v := v.(type) {
		case canon.Object:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				if slices.Contains(customKeys, k) {
					if inList {
						inLists = append(inLists, k)
					} else {
						plain = append(plain, k)
					}
				}
				visit(v[k], inList)
			}
		case []any:
			for _, e := range v {
				if lists {
					visit(e, true)
				}
			}
		}
	}
	visit(v, false)
	return append(plain, inLists...)
}

// equalTypes compares values as JSON texts do: 4, 4.0 and true are three values.
func equalTypes(a, b any) bool { return equalValues(a, b, func(x, y any) bool { return x == y }) }

// equalNumbers compares numbers by what they count, and true and false as 1 and 0: the reference's accident.
func equalNumbers(a, b any) bool {
	return equalValues(a, b, func(x, y any) bool {
		if x == y {
			return true
		}
		p, q := number(x), number(y)
		return p != nil && q != nil && p.Cmp(q) == 0
	})
}

func equalValues(a, b any, scalar func(a, b any) bool) bool {
	switch a := a.(type) {
	case canon.Object:
		o, ok := b.(canon.Object)
		if !ok || len(a) != len(o) {
			return false
		}
		for k, v := range a {
			if w, ok := o[k]; !ok || !equalValues(v, w, scalar) {
				return false
			}
		}
		return true
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, func(x, y any) bool { return equalValues(x, y, scalar) })
	}
	switch b.(type) {
	case canon.Object, []any:
		return false
	}
	return scalar(a, b)
}

// maxDigits is more than any float64 has, so that a longer integer equals none.
const maxDigits = 400

// number returns v exactly, or nil when v is no number that could equal one of another type.
func number(v any) *big.Rat {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewRat(1, 1)
		}
		return new(big.Rat)
	case canon.Int:
		if len(v) <= maxDigits {
			r, _ := new(big.Rat).SetString(string(v))
			return r
		}
	case float64:
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			return new(big.Rat).SetFloat64(v)
		}
	}
	return nil
}

func showValue(v any, present bool) string {
	if !present {
		return "<absent>"
	}
	b, err := canon.ASCII(v)
	if err != nil {
		return "<unprintable>"
	}
	return show(string(b))
}
