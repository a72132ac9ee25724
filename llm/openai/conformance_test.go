package openai_test

import (
	"testing"

	"assay/core/secret"
	"assay/llm/llmtest"
	"assay/llm/openai"
)

func TestConformance(t *testing.T) {
	llmtest.Run(t, func(t *testing.T) llmtest.Subject {
		return llmtest.Subject{Client: newClient(t, openai.Worker(stub(t), secret.New("sk-123456"))), Model: "a/b"}
	})
}
