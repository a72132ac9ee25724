package atlas

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

var nouns = []string{
	"lantern", "harbour", "meadow", "compass", "thimble", "orchard", "granite", "voyage", "blanket", "chimney", "sparrow", "cabinet",
	"mountain", "notebook", "passenger", "telescope", "carpenter", "waterfall", "afternoon", "blueprint", "gardener", "hurricane", "lighthouse", "wilderness",
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// swapped exchanges two unlike neighbours in the middle of s, as somebody does who loses the place.
func swapped(s string) string {
	b := []byte(s)
	for i := len(b) / 2; i+1 < len(b); i++ {
		if b[i] != b[i+1] {
			b[i], b[i+1] = b[i+1], b[i]
			return string(b)
		}
	}
	return s + s[:1]
}

func words(d *draw, level, i int) puzzle {
	w := nouns[(level*8+i*2+d.below(2))%len(nouns)]
	var p puzzle
	switch level {
	case easy:
		p = puzzle{question: fmt.Sprintf("Write the word %q backwards.", w), answer: reversed(w), working: "I read the letters from the last to the first."}
	case medium:
		p.question = fmt.Sprintf("Remove every a, e, i, o and u from %q and write what is left.", w)
		p.answer = strings.Map(func(r rune) rune {
			if strings.ContainsRune("aeiou", r) {
				return -1
			}
			return r
		}, w)
		p.working = "The vowels go and the other letters keep their order."
	default:
		b := []byte(w)
		slices.Sort(b)
		p.question = fmt.Sprintf("Sort the letters of %q by the alphabet, write each letter once, and then write the result backwards.", w)
		p.answer = reversed(string(slices.Compact(b)))
		p.working = fmt.Sprintf("Sorted and without repetition the letters are %s, and backwards they are %s.", slices.Compact(b), p.answer)
	}
	p.wrong = swapped(p.answer)
	return p
}

// shifted moves every letter of s by n(i) places in the alphabet.
func shifted(s string, n func(i int) int) string {
	b := []byte(s)
	for i := range b {
		b[i] = 'a' + byte(((int(b[i]-'a')+n(i))%26+26)%26)
	}
	return string(b)
}

func ciphers(d *draw, level, i int) puzzle {
	w := nouns[(level*8+i*2+1-d.below(2))%len(nouns)]
	p := puzzle{answer: w, wrong: swapped(w)}
	switch level {
	case easy:
		p.question = fmt.Sprintf("Every letter of a word was replaced by the next one in the alphabet, which gave %q. What was the word?", shifted(w, func(int) int { return 1 }))
		p.working = "I take every letter one place back."
	case medium:
		n := d.between(4, 11)
		p.question = fmt.Sprintf("Every letter of a word was moved %d places forward in the alphabet, z being followed by a, which gave %q. What was the word?", n, shifted(w, func(int) int { return n }))
		p.working = fmt.Sprintf("Moving every letter %d places back gives the word.", n)
	default:
		p.question = fmt.Sprintf("A word was written backwards, and then its first letter was moved 1 place forward in the alphabet, its second 2 places, its third 3 places and so on, z being followed by a. This gave %q. What was the word?",
			shifted(reversed(w), func(i int) int { return i + 1 }))
		p.working = fmt.Sprintf("Undoing the growing moves gives %s, and read backwards that is the word.", reversed(w))
	}
	return p
}

func dates(d *draw, level, _ int) puzzle {
	start := time.Date(d.between(2001, 2031), time.Month(d.between(1, 12)), d.between(1, 28), 0, 0, 0, 0, time.UTC)
	switch level {
	case easy:
		n := d.between(8, 26)
		end := start.AddDate(0, 0, n)
		return puzzle{
			question: fmt.Sprintf("Today is a %s. Which weekday is it in %d days?", start.Weekday(), n),
			answer:   end.Weekday().String(), wrong: end.AddDate(0, 0, 1).Weekday().String(),
			working: fmt.Sprintf("After the full weeks %d days are left.", n%7),
		}
	case medium:
		n := d.between(40, 110)
		end := start.AddDate(0, 0, n)
		return puzzle{
			question: fmt.Sprintf("Which date is %d days after %s? Write it as YYYY-MM-DD.", n, start.Format("2 January 2006")),
			answer:   end.Format(time.DateOnly), wrong: end.AddDate(0, 0, 1).Format(time.DateOnly),
			working: fmt.Sprintf("Counting month by month leads into %s.", end.Format("January 2006")),
		}
	}
	return puzzle{
		question: fmt.Sprintf("Which weekday was or will be %s in the Gregorian calendar?", start.Format("2 January 2006")),
		answer:   start.Weekday().String(), wrong: start.AddDate(0, 0, -1).Weekday().String(),
		working: fmt.Sprintf("It is day %d of its year; counting the leap years up to it and dividing by seven gives the weekday.", start.YearDay()),
	}
}
