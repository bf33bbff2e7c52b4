package clienttool

import (
	"encoding/json"
	"strings"

	"weir/internal/llm"
)

// textMember is the argument with the text.
const textMember = "input"

// The schemas of functions for tools that only their vendors know:
// https://developers.openai.com/api/docs/guides/tools-local-shell,
// https://developers.openai.com/api/docs/guides/tools-shell and
// https://developers.openai.com/api/docs/guides/tools-apply-patch (undated copies of 2026).
const (
	textSchema = `{"type":"object","properties":{"input":{"type":"string",` +
		`"description":"The whole input of the tool, as plain text"}},` +
		`"required":["input"],"additionalProperties":false}`
	localShellSchema = `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},` +
		`"description":"The program and its arguments"},"working_directory":{"type":"string"},` +
		`"timeout_ms":{"type":"integer"},"env":{"type":"object","additionalProperties":{"type":"string"}}},` +
		`"required":["command"]}`
	shellSchema = `{"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"},` +
		`"description":"Shell commands, which may run at the same time"},"timeout_ms":{"type":"integer"},` +
		`"max_output_length":{"type":"integer"}},"required":["commands"]}`
	applyPatchSchema = `{"type":"object","properties":{"type":{"type":"string","enum":["create_file","update_file",` +
		`"delete_file"]},"path":{"type":"string"},"diff":{"type":"string","description":"For create_file and ` +
		`update_file: the change as a V4A diff. Each hunk begins with a line @@, context lines begin with a space, ` +
		`removed lines with -, added lines with +"}},"required":["type","path"]}`
	searchSchema = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`
)

// Grammar restricts the text for a tool.
type Grammar struct{ Syntax, Definition string }

// TextTool returns the function for a tool with a text as input. Its description contains the grammar, so that the
// model obeys it.
func TextTool(name, description string, g Grammar) llm.Tool {
	if g.Definition != "" {
		description = strings.TrimSpace(
			description + "\n\nThe input must match this grammar (" + g.Syntax + "):\n" + g.Definition)
	}
	return llm.Tool{Name: name, Description: description, Parameters: json.RawMessage(textSchema)}
}

// LocalShell returns the function for a tool that runs a command on the client's machine.
func LocalShell(name string) llm.Tool {
	return llm.Tool{
		Name: name, Description: "Runs a command on the user's machine, and gives back what it writes.",
		Parameters: json.RawMessage(localShellSchema),
	}
}

// Shell returns the function for a tool that runs commands in the client's shell.
func Shell(name string) llm.Tool {
	return llm.Tool{
		Name: name, Description: "Runs commands in the user's shell, and gives back what each writes.",
		Parameters: json.RawMessage(shellSchema),
	}
}

// ApplyPatch returns the function for a tool that changes a file of the client.
func ApplyPatch(name string) llm.Tool {
	return llm.Tool{
		Name: name, Description: "Creates, changes or deletes one file of the user's.",
		Parameters: json.RawMessage(applyPatchSchema),
	}
}

// Search returns the function for a tool with which the client searches for tools. Its default argument is a query.
func Search(name, description string, schema json.RawMessage) llm.Tool {
	if schema == nil {
		schema = json.RawMessage(searchSchema)
	}
	if description == "" {
		description = "Finds tools that can be called from then on."
	}
	return llm.Tool{Name: name, Description: description, Parameters: schema}
}
