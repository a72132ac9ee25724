package atlas

import (
	"strings"

	"assay/conductor/grade"
)

// formats tells how an answer is to be written, by metric.
var formats = map[string]string{
	grade.Number:      "End with #### and the number.",
	grade.FinalNumber: "End with #### and the number, without commas.",
	grade.ExactMatch:  `Put the answer in \boxed{}.`,
	grade.MCQ:         `Put the letter of the right option in \boxed{}.`,
}

// The words around an answer: each model has its way of talking. A wrong answer shows no working that would prove it
// wrong.
var (
	openings = [][]string{
		{"", "Sure.", "Ok."},
		{"Let me see.", "Here is how I read it."},
		{"We take it step by step.", "First I set up what is given."},
		{"I restate the question, work it through, and then check the result.", "I work this out carefully and check it a second way."},
	}
	shrugs = [][]string{
		{"", "I think this is it."},
		{"That seems to fit best.", "This is what it comes to as far as I can tell."},
		{"Following the steps in order leads to this result.", "Putting the parts together gives the result below."},
		{"After going through the steps one by one I arrive at the following, although the last step leaves some doubt.",
			"Two readings are possible; I take the first, which leads to this."},
	}
	checks = []string{
		"", "", "The result agrees with the question as it was put.",
		"Checking it backwards from the result to what was given leads to the same values, so the answer stands, and no step used anything that the question does not state.",
	}
)

// answerText writes model m's answer.
func answerText(d *draw, metric string, p puzzle, m int, right bool) string {
	parts := []string{pick(d, openings[m])}
	final := p.wrong
	switch {
	case !right:
		parts = append(parts, pick(d, shrugs[m]))
	case m > 0:
		parts = append(parts, p.working, checks[m])
		final = p.answer
	default:
		final = p.answer
	}
	text := strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
	last := "#### " + final
	if metric == grade.ExactMatch || metric == grade.MCQ {
		last = `\boxed{` + final + "}"
	}
	return strings.TrimSpace(text + "\n" + last)
}
