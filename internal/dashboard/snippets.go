package dashboard

import (
	"fmt"
	"strings"

	"weir/internal/account"
)

// snippetsOf returns programs that use the key, ready to run.
func snippetsOf(base, key, model string) []Code {
	return []Code{
		{Ident: "snippet-curl", Label: "curl", Text: curlOf(base, key, model)},
		{Ident: "snippet-python", Label: "Python", Text: fmt.Sprintf(pythonSnippet, base, key, model)},
		{Ident: "snippet-javascript", Label: "JavaScript", Text: fmt.Sprintf(javaScriptSnippet, base, key, model)},
		{Ident: "snippet-go", Label: "Go", Text: fmt.Sprintf(goSnippet, base, key, model)},
	}
}

// curlOf returns a request to the service's own API. Without a model the default model answers.
func curlOf(base, key, model string) string {
	named := ""
	if model != "" {
		named = fmt.Sprintf(`"model": %q, `, model)
	}
	return fmt.Sprintf(curlSnippet, base, key, named)
}

const curlSnippet = `curl %s/v1/chat \
  -H "Authorization: Bearer %s" \
  -H "Content-Type: application/json" \
  -d '{%s"messages": [{"role": "user", "prompt": "Hello!"}]}'`

const pythonSnippet = `# pip install openai
from openai import OpenAI

client = OpenAI(base_url="%s/v1", api_key="%s")
reply = client.chat.completions.create(
    model="%s",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(reply.choices[0].message.content)`

const javaScriptSnippet = `// npm install openai
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "%s/v1", apiKey: "%s" });
const reply = await client.chat.completions.create({
  model: "%s",
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(reply.choices[0].message.content);`

const goSnippet = `// go get github.com/openai/openai-go/v3
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	client := openai.NewClient(
		option.WithBaseURL("%s/v1"),
		option.WithAPIKey("%s"),
	)
	reply, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:    "%s",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello!")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Choices[0].Message.Content)
}`

// modelFor returns a model that the key may use, for an example: its first model that is not a pattern, else the
// example model.
func modelFor(k *account.Key, example string) string {
	for _, m := range k.Models {
		if !strings.ContainsAny(m, `*"'\`) {
			return m
		}
	}
	return example
}

// firstModel returns the model that a first request must name; empty if there is a default model.
func firstModel(o *Options) func() string {
	return func() string {
		if o.DefaultModel() != "" {
			return ""
		}
		return o.ExampleModel()
	}
}
