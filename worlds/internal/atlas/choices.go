package atlas

import (
	"fmt"
	"slices"
	"strings"
)

// choice makes a puzzle of options; right is the answer's text and one of options.
func choice(question string, options []string, right, working string) puzzle {
	var b strings.Builder
	b.WriteString(question)
	for i, o := range options {
		fmt.Fprintf(&b, "\n%c. %s", 'A'+i, o)
	}
	at := slices.Index(options, right)
	letter := func(i int) string { return string(rune('A' + i%len(options))) }
	return puzzle{question: b.String(), answer: letter(at), wrong: letter(at + 1), working: working}
}

// sentences are gaps and what may fill them; the first filling is right.
var sentences = [3][4]struct {
	question string
	fillings []string
	why      string
}{
	easy: {
		{"What is the plural of \"knife\"?", []string{"knives", "knifes", "knivs", "knifs"}, "Words in -fe change it to -ves."},
		{"Fill the gap: She ___ to the market every Friday.", []string{"goes", "go", "going", "gone"}, "One person in the present takes -es."},
		{"Which spelling is right?", []string{"separate", "seperate", "separete", "seperete"}, "The middle vowel is an a."},
		{"Fill the gap: Yesterday we ___ two letters.", []string{"wrote", "written", "write", "writes"}, "Yesterday asks for the past tense."},
	},
	medium: {
		{"Fill the gap: The dog wagged ___ tail.", []string{"its", "it's", "its'", "it is"}, "The possessive has no apostrophe."},
		{"Fill the gap: If I ___ more time, I would learn the cello.", []string{"had", "have", "would have", "has"}, "An unreal condition stands in the past tense."},
		{"Fill the gap: There were ___ people than chairs.", []string{"fewer", "less", "lesser", "few"}, "What can be counted becomes fewer."},
		{"Fill the gap: The news ___ better than we feared.", []string{"was", "were", "are", "have been"}, "News is singular."},
	},
	hard: {
		{"Which sentence is free of a dangling participle?", []string{
			"Walking home, I saw that the street was empty.", "Walking home, the street was empty.",
			"Walking home, it began to rain.", "Walking home, my umbrella broke."}, "Only there does the walker do the main verb."},
		{"Fill the gap: The committee insisted that he ___ at once.", []string{"resign", "resigns", "resigned", "would resign"}, "Insisting on what shall happen takes the bare form."},
		{"In which sentence is \"sanction\" a penalty?", []string{
			"The league lifted the sanction after he had paid.", "The council gave its sanction to the new bridge.",
			"Nothing was built without royal sanction.", "She spoke with the sanction of her office."}, "Only what one pays for and what is lifted is a penalty; elsewhere it is leave."},
		{"Fill the gap: Scarcely had we sat down ___ the lights went out.", []string{"when", "than", "then", "that"}, "Scarcely goes with when; it is no comparison."},
	},
}

func grammar(d *draw, level, i int) puzzle {
	s := sentences[level][i]
	return choice(s.question, shuffle(d, s.fillings), s.fillings[0], s.why)
}

var people = []string{"Ada", "Bo", "Cleo", "Dan", "Edith", "Finn", "Greta", "Hal", "Iris", "Jon"}

// ordinals name a place from the tallest.
var ordinals = []string{"tallest", "second tallest", "third tallest", "fourth tallest", "fifth tallest", "shortest"}

// ordering asks for a place in a row of people; a clue names two neighbours in it, so that the row is unique.
func ordering(d *draw, level, _ int) puzzle {
	row := shuffle(d, people)[:3+level+level/2] // 3, 4 or 6
	var clues []string
	for i := 1; i < len(row); i++ {
		clue := fmt.Sprintf("%s is taller than %s.", row[i-1], row[i])
		if d.below(2) == 0 {
			clue = fmt.Sprintf("%s is shorter than %s.", row[i], row[i-1])
		}
		clues = append(clues, clue)
	}
	place := d.below(len(row))
	name := ordinals[place]
	if place == len(row)-1 {
		name = ordinals[len(ordinals)-1]
	}
	question := fmt.Sprintf("%s Who is the %s of the %d?", strings.Join(shuffle(d, clues), " "), name, len(row))
	return choice(question, slices.Sorted(slices.Values(row)), row[place], "From tall to short the row is "+strings.Join(row, ", ")+".")
}
