package reading

import (
	"slices"
	"strconv"
	"strings"
)

// What an invitation begins and ends with, whatever verbs stand between.
const (
	invitationHead = "\n\nBefore you answer you may inspect the repository, up to "
	invitationTail = "A reply that is exactly one such line is an inspection; any other reply is your final answer.\n"
)

// usage says what each verb shows, in the order in which verbs are offered.
var usage = []struct{ verb, line string }{
	{Read, "READ path start - lines of a file from line start (1 when left out), " + strconv.Itoa(ReadLines) + " at most\n"},
	{List, "LIST path - names in a directory, " + strconv.Itoa(ListMax) + " at most; LIST . is the root\n"},
	{Find, "FIND text - lines that hold the text, as path:line:text, " + strconv.Itoa(FindMax) + " at most\n"},
}

// Invitation returns the text that ends the statement of a task with these tools: how to inspect the repository by the declared
// verbs. It is "" when no verb is declared.
func Invitation(tools []string) string {
	var b strings.Builder
	for _, u := range usage {
		if slices.Contains(tools, u.verb) {
			b.WriteString(u.line)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return invitationHead + strconv.Itoa(MaxReads) + " times, by a reply that is one of these lines:\n" + b.String() + invitationTail
}

// Invited reports whether a statement ends in the invitation of its tools, and in none when they name no verb.
func Invited(prompt string, tools []string) bool {
	if want := Invitation(tools); want != "" {
		return strings.HasSuffix(prompt, want)
	}
	return !strings.HasSuffix(prompt, invitationTail)
}
