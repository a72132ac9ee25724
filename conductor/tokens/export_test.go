package tokens

// Pieces returns the pieces into which t cuts text before the model sees them, added tokens left out.
func Pieces(t *Tokenizer, text string) ([]string, error) {
	out := []string{}
	var cut func(text string, i int) error
	cut = func(text string, i int) (err error) {
		if i == len(t.stages) {
			out = append(out, text)
			return nil
		}
		bad := t.stages[i].cut(text, func(p string) {
			if e := cut(p, i+1); e != nil {
				err = e
			}
		})
		if bad != nil {
			err = bad
		}
		return err
	}
	return out, cut(text, 0)
}
