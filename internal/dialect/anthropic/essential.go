package anthropic

import (
	"fmt"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const bySchema = `Ask for the format "json_schema"`

// essentials are the fields that a translation must not drop:
// https://platform.claude.com/docs/en/api/beta/messages/create,
// https://platform.claude.com/docs/en/build-with-claude/task-budgets,
// https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand and
// https://platform.claude.com/docs/en/manage-claude/data-residency (undated copies of 2026).
var essentials = parse.Essentials{
	"compaction": {Instead: "Ask for a summary in a message"},
	"container":  {Instead: "Leave it out"},
	"inference_geo": {
		Instead: "Choose a model that runs there, and leave it out",
		Usual:   []string{"global"},
	},
	"mcp_servers":               {Instead: "Offer its tools as functions"},
	"output_config.format":      {Instead: bySchema},
	"output_config.task_budget": {Instead: "Leave it out and set max_tokens"},
	"output_format":             {Instead: bySchema},
	"tool_choice":               {Instead: "Name a tool or leave the choice to the model"},
}

// blockEssentials are the types of blocks that replace the conversation before them.
var blockEssentials = parse.Essentials{
	"compaction": {Instead: "Put its content into a text"},
}

// noteContent notes a block of the messages that a translation must not drop.
func noteContent(r *llm.Request, messages []llm.Message) {
	for i := range messages {
		if d := essentialOf(messages[i].Parts); d != nil && r.Essential == nil {
			d.Param = fmt.Sprintf("messages[%d].content.%s", i, d.Param)
			r.Essential = d
		}
	}
}

func essentialOf(parts []llm.Part) *llm.Essential {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case llm.PartOther:
			if d := blockEssentials.Of(rawjson.Text(rawjson.Get(p.Raw, "type")), p.Raw); d != nil {
				return d
			}
		case llm.PartToolResult:
			if d := essentialOf(p.Result.Parts); d != nil {
				return d
			}
		}
	}
	return nil
}
