#!/bin/sh
# A whole Conductor window on this machine: an owner, two miners, a chain in a file; no network and no money.
#
#   mkdir try && cd try && sh ../examples/window.sh ../bin/assay
#
# ./owner then holds everything of the owner's, and ./owner/public what a stranger gets.
set -eu
assay=${1:-assay}

# Window 1 opens at block 100; what is submitted before that block is judged in it.
"$assay" chain new chain.json --head 60

# A submission is a tree of files that equals the owner's reference in all but its numbers. Here the config says which model
# the Conductor asks; a real one holds a language model's weights.
tree() { # folder model
	mkdir -p "$1"
	printf '\065\000\000\000\000\000\000\000{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}%4.4s' "$1" > "$1/w.safetensors"
	printf '{"model_type":"toy","asks":"%s"}' "$2" > "$1/config.json"
	printf '{}' > "$1/tokenizer.json"
	printf '{}' > "$1/tokenizer_config.json"
}
tree reference none
tree middle atlas/forge-pro
tree dearest atlas/summit-max
"$assay" conductor reference build reference -o reference.json

# How the owner serves a submission: one JSON line in for each turn, one out. This one asks its model once, then stops.
cat > serve.sh <<'SH'
model=$(sed 's/.*"asks":"\([^"]*\)".*/\1/' "$1/config.json")
while read -r line; do
	case $line in
	*'"step":1}'* | *'"step":1,'*) printf '{"text":"DELEGATE %s"}\n' "$model" ;;
	*) echo '{"text":"STOP"}' ;;
	esac
done
SH

# The owner: keys, a season fitted on the embedded world, and the schedule's root on the chain before anybody submits.
"$assay" conductor window init owner --chain fake:chain.json --origin example.com/conductor --genesis 100 --window-blocks 50 \
	--per-benchmark 12 --minimum 2 --reference reference.json --serve "exec:sh $PWD/serve.sh {tree}"
"$assay" chain register chain.json "$("$assay" conductor hotkey owner/owner.seed)" --uid 0
"$assay" conductor window commit owner

# The miners.
"$assay" chain register chain.json "$("$assay" conductor hotkey middle.seed --new)" --uid 1
"$assay" chain register chain.json "$("$assay" conductor hotkey dearest.seed --new)" --uid 2
for miner in middle dearest; do
	"$assay" conductor submit $miner --bucket owner/bucket --hotkey $miner.seed --chain fake:chain.json --reference reference.json
done

# The window.
"$assay" chain head chain.json 100
"$assay" conductor window run owner
"$assay" conductor audit owner/public
