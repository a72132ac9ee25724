package atlas

import (
	"fmt"
	"strconv"
	"strings"
)

func arithmetic(d *draw, level, _ int) puzzle {
	switch level {
	case easy:
		a, b := d.between(120, 890), d.between(120, 890)
		return number(fmt.Sprintf("Add %d and %d.", a, b), a+b, 10, fmt.Sprintf("%d and %d make %d.", a, b, a+b))
	case medium:
		boxes, each, loose := d.between(12, 38), d.between(13, 48), d.between(3, 30)
		total := boxes*each + loose
		return number(fmt.Sprintf("A shop has %d boxes of %d pencils and %d loose pencils. How many pencils does it have?", boxes, each, loose),
			total, each, fmt.Sprintf("%d times %d is %d, and %d more make %d.", boxes, each, boxes*each, loose, total))
	}
	a, b, c, e, f := d.between(210, 980), d.between(210, 980), d.between(17, 64), d.between(23, 87), d.between(31, 96)
	total := (a+b)*c - e*f
	return number(fmt.Sprintf("What is (%d + %d) x %d - %d x %d?", a, b, c, e, f), total, 100,
		fmt.Sprintf("The bracket is %d, times %d that is %d. The second product is %d. The difference is %d.", a+b, c, (a+b)*c, e*f, total))
}

// number makes a puzzle whose answer is a whole number; a likely slip is off by so much.
func number(question string, answer, slip int, working string) puzzle {
	return puzzle{question: question, answer: strconv.Itoa(answer), wrong: strconv.Itoa(answer - slip), working: working}
}

// milli writes a number of thousandths as a decimal.
func milli(n int) string {
	s := fmt.Sprintf("%d.%03d", n/1000, n%1000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func units(d *draw, level, i int) puzzle {
	switch level {
	case easy:
		scales := []struct {
			small, large string
			factor       int
		}{{"centimetres", "metres", 100}, {"grams", "kilograms", 1000}, {"millilitres", "litres", 1000}, {"minutes", "hours", 60}}
		s, half := scales[i], d.between(3, 29)*2+1
		n := half * s.factor / 2
		return number(fmt.Sprintf("How many %s are %s %s?", s.small, milli(half*500), s.large), n, s.factor/2,
			fmt.Sprintf("One of the %s is %d %s.", s.large, s.factor, s.small))
	case medium:
		ml, seconds, minutes := d.between(4, 18)*50, pick(d, []int{10, 12, 15, 20}), d.between(5, 24)
		total := minutes * 60 / seconds * ml
		return puzzle{
			question: fmt.Sprintf("A tap gives %d millilitres every %d seconds. How many litres does it give in %d minutes?", ml, seconds, minutes),
			answer:   milli(total), wrong: milli(total / 10),
			working: fmt.Sprintf("It gives its portion %d times, which is %d millilitres.", minutes*60/seconds, total),
		}
	}
	cm, turns := d.between(150, 240), d.between(90, 310)
	turns -= turns % 5             // so that the metres of an hour are whole
	total := cm * turns * 60 / 100 // metres an hour, which are thousandths of a kilometre
	return puzzle{
		question: fmt.Sprintf("A wheel of circumference %s metres turns %d times a minute without slipping. How fast does it roll, in kilometres per hour?", milli(cm*10), turns),
		answer:   milli(total), wrong: milli(total * 6 / 10),
		working: fmt.Sprintf("In an hour it turns %d times and so rolls %d metres; a thousand metres are a kilometre.", turns*60, total),
	}
}

func sequences(d *draw, level, i int) puzzle {
	a, b := d.between(3, 19), d.between(4, 17)
	terms, working := []int{a}, ""
	for n := 1; n < 7; n++ {
		last := terms[n-1]
		next := last + b
		switch {
		case level == easy:
			working = fmt.Sprintf("Each term is the one before plus %d.", b)
		case level == medium && i%2 == 0:
			next, working = last*2+b%4, fmt.Sprintf("Each term is twice the one before, plus %d.", b%4)
		case level == medium:
			next, working = last+[]int{b, -(b / 2)}[n%2], fmt.Sprintf("Minus %d and plus %d take turns.", b/2, b)
		case i%2 == 0:
			next, working = last+b+n*(a+2), fmt.Sprintf("The steps grow by %d each time.", a+2)
		default:
			if n > 1 {
				next = last + terms[n-2] + i
			}
			working = fmt.Sprintf("From the third on, each term is the sum of the two before, plus %d.", i)
		}
		terms = append(terms, next)
	}
	shown := make([]string, 6)
	for n := range shown {
		shown[n] = strconv.Itoa(terms[n])
	}
	hint := map[int]string{hard: " The rule uses more than the term before."}[level]
	return number(fmt.Sprintf("Which number comes next: %s?%s", strings.Join(shown, ", "), hint), terms[6], 1+b%3, working)
}
