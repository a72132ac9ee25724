package rpc_test

import (
	"testing"

	"assay/chain"
	"assay/chain/chaintest"
)

func TestContract(t *testing.T) {
	chaintest.Run(t, func(t *testing.T) (chain.Client, chaintest.Control) {
		n, c := newNode(t)
		return c, n
	})
}
