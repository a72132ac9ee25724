package play

// AppendEvent and ParseEvent are the journal's codec, for tests.
var (
	AppendEvent = appendEvent
	ParseEvent  = parseEvent
)
