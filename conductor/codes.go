package conductor

import "assay/core/fault"

// The refusals. What follows the dot is the word that vectors and reports use.
var (
	UnknownProfile = fault.NewCode("conductor.unknown_profile", fault.Invalid, "a profile is strict or compat")

	// Catalog.
	DuplicateID     = fault.NewCode("conductor.duplicate_id", fault.Invalid, "a model id stands twice among the usable rows")
	MissingIDs      = fault.NewCode("conductor.missing_ids", fault.NotFound, "a model is not in the catalog: pin again and fit again instead of substituting")
	TooFewIDs       = fault.NewCode("conductor.too_few_ids", fault.Invalid, "a catalog is narrowed to two distinct models at least")
	BadListing      = fault.NewCode("conductor.bad_listing", fault.Invalid, "a model listing is an object whose data is a list")
	BadFrozen       = fault.NewCode("conductor.catalog_unreadable", fault.Invalid, "not a frozen catalog")
	EmptyCatalog    = fault.NewCode("conductor.catalog_empty", fault.Invalid, "the catalog is empty: there is no action space")
	CatalogTooLarge = fault.NewCode("conductor.catalog_too_large", fault.TooLarge, "the catalog exceeds its token budget")
	BadModelID      = fault.NewCode("conductor.bad_model_id", fault.Invalid, "a model id holds blanks, control characters or line ends")
	BadPrice        = fault.NewCode("conductor.bad_price", fault.Invalid, "a price is a number of dollars that is not negative")
	BadContext      = fault.NewCode("conductor.bad_context", fault.Invalid, "a context length is a positive whole number")
	UnknownModel    = fault.NewCode("conductor.unknown_model", fault.NotFound, "the model is not in this window's catalog snapshot")

	// Episode and arm.
	BadCost         = fault.NewCode("conductor.bad_cost", fault.Internal, "a worker's cost is not a number of dollars that is not negative")
	BadGrade        = fault.NewCode("conductor.bad_grade", fault.Internal, "a grade lies outside zero to one")
	BadTask         = fault.NewCode("conductor.bad_task", fault.Invalid, "a task needs an id and a benchmark, and all its text in UTF-8")
	BadEvent        = fault.NewCode("conductor.bad_event", fault.Internal, "the episode was told of an event that it did not ask for")
	BelowMinimum    = fault.NewCode("conductor.below_minimum", fault.Invalid, "fewer tasks for each benchmark are drawn than the minimum")
	NothingDrawable = fault.NewCode("conductor.nothing_drawable", fault.Invalid, "no benchmark has as many tasks as the minimum")
	NoTasks         = fault.NewCode("conductor.no_tasks", fault.Invalid, "there are no tasks")
	BadPolicy       = fault.NewCode("conductor.bad_policy", fault.Invalid, "no such reference policy, or its settings do not fit the catalog")
	BadTrace        = fault.NewCode("conductor.bad_trace", fault.Invalid, "not an episode trace")

	// Worker replies.
	ProviderError    = fault.NewCode("conductor.provider_error", fault.Unready, "the provider answered 200 with an error")
	NoChoices        = fault.NewCode("conductor.no_choices", fault.Unready, "the provider's reply holds no choice")
	GenerationFailed = fault.NewCode("conductor.generation_failed", fault.Unready, "the generation failed in mid-response")
	NoCost           = fault.NewCode("conductor.no_cost", fault.Unready, "the provider's reply does not say what it cost")
	BadReply         = fault.NewCode("conductor.bad_reply", fault.Unready, "the provider's reply is not a JSON object")

	// Conductor replies.
	NotPinned       = fault.NewCode("conductor.instructions_not_pinned", fault.Invalid, "the prompt does not begin with the pinned instructions")
	WrongModel      = fault.NewCode("conductor.wrong_model", fault.Unready, "the endpoint answered for another model")
	BadCompletion   = fault.NewCode("conductor.bad_completion", fault.Unready, "the completion is not exactly one choice with a text")
	ServingFailed   = fault.NewCode("conductor.serving_failed", fault.Unready, "the Conductor could not be asked")
	TokenizerBroken = fault.NewCode("conductor.bad_tokenizer", fault.Invalid, "the tokenizer file cannot be read")

	// Score, exchange rate, duel, adjudication.
	NoEpisodes         = fault.NewCode("conductor.no_episodes", fault.Invalid, "there are no episodes to score")
	NoRate             = fault.NewCode("conductor.no_rate", fault.Invalid, "a benchmark has no exchange rate")
	AllExcluded        = fault.NewCode("conductor.all_excluded", fault.Invalid, "every benchmark is excluded from scoring")
	Overfull           = fault.NewCode("conductor.overfull", fault.Invalid, "more rows were observed than the slice holds")
	OneArmOnly         = fault.NewCode("conductor.one_arm_only", fault.Invalid, "a benchmark stands in one reference arm only")
	NoReferenceCost    = fault.NewCode("conductor.exchange.no_cost", fault.Invalid, "the reference arms cost nothing on a benchmark")
	MissingExtreme     = fault.NewCode("conductor.missing_extreme", fault.Invalid, "the fit needs both always-cheapest and always-strongest")
	DuplicateTask      = fault.NewCode("conductor.duplicate_task", fault.Invalid, "a task stands twice in an arm")
	Breadth            = fault.NewCode("conductor.breadth", fault.Invalid, "breadth needs two benchmarks")
	EmptyBenchmark     = fault.NewCode("conductor.empty_benchmark", fault.Invalid, "a benchmark has no rows")
	Misaligned         = fault.NewCode("conductor.misaligned", fault.Invalid, "the arms' rows of a benchmark are not aligned")
	MisalignedGroups   = fault.NewCode("conductor.misaligned_groups", fault.Invalid, "the group labels of a benchmark are not aligned with its rows")
	PartialGroups      = fault.NewCode("conductor.partial_groups", fault.Invalid, "some rows of a benchmark have a group label and some have none")
	DuplicateBenchmark = fault.NewCode("conductor.duplicate_benchmark", fault.Invalid, "a benchmark stands twice in a duel")
	NoSeed             = fault.NewCode("conductor.no_seed", fault.Invalid, "a duel needs a nonce or a seed")
	BadRate            = fault.NewCode("conductor.bad_rate", fault.Invalid, "an exchange rate needs a lambda that is not negative and a positive cost per task")
	BadSettings        = fault.NewCode("conductor.bad_settings", fault.Invalid, "a duel needs a margin that is not negative and one to a million rounds")
	SameArm            = fault.NewCode("conductor.same_arm", fault.Invalid, "an arm cannot be compared with itself")

	// Windows.
	NotWindowRecord  = fault.NewCode("conductor.not_window_record", fault.Invalid, "not a window record")
	WrongWindow      = fault.NewCode("conductor.wrong_window", fault.Invalid, "the record is of another window")
	EntryNotPinned   = fault.NewCode("conductor.not_pinned", fault.Invalid, "the record's schedule entry is not the one that the committed schedule pins")
	WrongEntry       = fault.NewCode("conductor.wrong_entry", fault.Invalid, "the schedule entry is that of another window")
	ForeignEntry     = fault.NewCode("conductor.foreign_entry", fault.NotAllowed, "the schedule entry has other constants than this program plays by")
	BadEntry         = fault.NewCode("conductor.bad_entry", fault.Invalid, "not a schedule entry")
	BadSchedule      = fault.NewCode("conductor.bad_schedule", fault.Invalid, "not a schedule: its root, digests and epochs do not belong together")
	PoolChanged      = fault.NewCode("conductor.pool_changed", fault.Invalid, "the schedule entry is for a different task pool")
	BadPoolLine      = fault.NewCode("conductor.bad_pool_line", fault.Invalid, "not a line of a task pool in its one spelling")
	StatementChanged = fault.NewCode("conductor.statement_changed", fault.Invalid, "a drawn task is not the one that the pool's line names")
	BadInvitation    = fault.NewCode("conductor.bad_invitation", fault.Invalid, "a statement ends in the invitation to inspect exactly when its task declares a verb")
	NoNonce          = fault.NewCode("conductor.no_nonce", fault.Invalid, "a window needs its nonce")
	NoRules          = fault.NewCode("conductor.no_rules", fault.Invalid, "a strict window signs the digest of its rules, and one whose instructions it pins")
	SliceMismatch    = fault.NewCode("conductor.slice_mismatch", fault.Invalid, "the slice does not re-derive from its nonce")
	WrongFreshness   = fault.NewCode("conductor.wrong_freshness", fault.Invalid, "freshness does not follow from the tasks that were seen before")

	// Inspections.
	InspectionFailed   = fault.NewCode("conductor.inspection_failed", fault.Unready, "the repository could not be read")
	InspectionTooLarge = fault.NewCode("conductor.inspection_too_large", fault.TooLarge, "the repository is larger than one inspection may look at")
	VCSData            = fault.NewCode("conductor.vcs_data", fault.NotAllowed, "a task's tree holds version control data, whose history may hold the answer")
	BadTree            = fault.NewCode("conductor.bad_tree", fault.NotAllowed, "a task's tree holds what no snapshot may")
	ObservationDiffers = fault.NewCode("conductor.observation_differs", fault.Invalid, "the snapshot does not show what the observation says")
	NoSnapshot         = fault.NewCode("conductor.no_snapshot", fault.Unready, "there is no snapshot of the task's repository")
	SnapshotChanged    = fault.NewCode("conductor.snapshot_changed", fault.Unready, "the repository is not the one whose digest is recorded")

	// Graders.
	NoVerdict               = fault.NewCode("conductor.no_verdict", fault.Unready, "the test driver left no verdict")
	SandboxFailed           = fault.NewCode("conductor.sandbox_failed", fault.Unready, "the sandbox failed before there was anything to grade")
	NotGradeable            = fault.NewCode("conductor.not_gradeable", fault.NotAllowed, "no program can grade this benchmark's answers")
	VerbsWithoutEnvironment = fault.NewCode("conductor.verbs_without_environment", fault.Invalid, "a benchmark declares read verbs and an environment together, or neither")

	// Outcome table.
	BadRow       = fault.NewCode("conductor.bad_row", fault.Invalid, "not a row of an outcome table, or not in its one spelling")
	DuplicateRow = fault.NewCode("conductor.duplicate_row", fault.Invalid, "a draw stands twice in an outcome table")

	// Windows.
	BadSeason = fault.NewCode("conductor.bad_season", fault.Invalid, "no window can be played under this season")

	// Publication.
	BadPublication = fault.NewCode("conductor.bad_publication", fault.Invalid, "a line of a publication does not say what its place asks for")

	// Admission and world files.
	Refused  = fault.NewCode("conductor.refused", fault.NotAllowed, "the artifact is refused")
	BadWorld = fault.NewCode("conductor.bad_world", fault.Invalid, "the world's files are defective")

	// Receipts and funding.
	BadReceipt     = fault.NewCode("conductor.bad_receipt", fault.Invalid, "not a receipt in its one spelling")
	BadCallID      = fault.NewCode("conductor.bad_call_id", fault.Invalid, "a call is named w<window>-<arm>-<attempt>/<episode>/<step>/<call>")
	BadFunding     = fault.NewCode("conductor.bad_funding", fault.Invalid, "not a funding record in its one spelling")
	FundingForged  = fault.NewCode("conductor.funding_signature", fault.Unauthenticated, "the funding record is not signed by its hotkey")
	FundingForeign = fault.NewCode("conductor.funding_foreign", fault.Forbidden, "the funding record, or the key in it, belongs to another hotkey or registration")
	FundingCap     = fault.NewCode("conductor.funding_cap", fault.Invalid, "a funding record needs a cap above zero")
	FundingKey     = fault.NewCode("conductor.funding_key", fault.Invalid, "a provider key is printable text without surrounding blanks")

	// Submission.
	BadManifest    = fault.NewCode("conductor.bad_manifest", fault.Invalid, "not a manifest in its one spelling")
	ManifestForged = fault.NewCode("conductor.manifest_signature", fault.Unauthenticated, "the manifest is not signed by its hotkey")
	BadPath        = fault.NewCode("conductor.bad_path", fault.Invalid, "not a path that an artifact's file may have")
	BadModelName   = fault.NewCode("conductor.bad_model_name", fault.Invalid, "a model's name is 3 to 40 characters of a-z, 0-9, dot, dash and underscore, and does not begin with the owner's thirtyspokes-")

	// Power.
	TooFewTasks  = fault.NewCode("conductor.too_few_tasks", fault.Invalid, "the noise of a benchmark takes two tasks at least, and a simulated slice 2 to 20000 of each")
	Unresolvable = fault.NewCode("conductor.unresolvable", fault.Invalid, "no slice of the largest size resolves so small a difference: it has to exceed the margin")
)
