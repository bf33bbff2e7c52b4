package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"weir/internal/admin"
)

func newMCP(env *environment) *cobra.Command {
	return group("mcp", "List MCP servers and their tools, and approve changed tools", newMCPServers(env),
		newMCPTools(env), newMCPTest(env), newMCPShow(env), newMCPApprove(env), newMCPForget(env),
		newMCPConnect(env))
}

func newMCPServers(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "servers", Short: "Ask all MCP servers for their tools",
		Example: "  weir mcp servers\n  weir mcp servers --json", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				all, err := d.MCP.Servers(cmd.Context())
				if err != nil {
					return err
				}
				heads := []string{"SERVER", "REVISION", "TOOLS", "ALLOWED", "HELD", "PROBLEM"}
				return list(&env.output, all, heads, mcpServerRow)
			})
		},
	})
}

func mcpServerRow(v *admin.MCPServerView) []string {
	return []string{
		v.Name, orNone(v.Revision), strconv.Itoa(v.Tools), strconv.Itoa(v.Allowed), strconv.Itoa(v.Held),
		orNone(v.Problem),
	}
}

func newMCPTools(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "tools [SERVER]", Short: "List the tools of MCP servers: allowed, hidden, or held because they changed",
		Example: "  weir mcp tools\n  weir mcp tools github --json", Args: serverOrNone,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				all, err := d.MCP.Tools(cmd.Context(), firstOf(args))
				if err != nil {
					return err
				}
				return list(&env.output, all, []string{"TOOL", "STATUS", "DESCRIPTION"}, mcpToolRow)
			})
		},
	})
}

func serverOrNone(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("%s needs at most the name of an MCP server", cmd.CommandPath())}
	}
	return nil
}

func serverAndTool(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usageError{fmt.Errorf("%s needs the name of an MCP server and that of its tool", cmd.CommandPath())}
	}
	return nil
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func mcpToolRow(v *admin.MCPToolView) []string {
	const most = 80
	text := []rune(v.Description)
	if len(text) > most {
		text = append(text[:most-1], '…')
	}
	return []string{v.Name, string(v.Status), orNone(string(text))}
}

func newMCPTest(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "test SERVER", Short: "Connect to an MCP server, and list what it offers",
		Long: "Connect to an MCP server, and list what it offers. Nothing is called.\n" +
			"It fails if the server does not answer.",
		Example: "  weir mcp test github", Args: oneArg("the name of an MCP server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				v, err := d.MCP.Test(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if env.asJSON {
					return printJSON(env.stdout, v)
				}
				_, err = fmt.Fprintf(env.stdout, "%s answers by revision %s: %d tools, %d allowed, %d held\n", v.Name,
					v.Revision, v.Tools, v.Allowed, v.Held)
				return err
			})
		},
	})
}

func newMCPConnect(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "connect SERVER", Short: "Print the address at which people connect to an MCP server by OAuth",
		Long: "Print the address at which people connect to an MCP server by OAuth. An operator connects the\n" +
			"installation there and, if the server's entry has oauth: person, each person connects themselves.",
		Example: "  weir mcp connect tracker", Args: oneArg("the name of an MCP server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				address, err := d.Connections.Address(cmd.Context(), args[0])
				if err == nil {
					_, err = fmt.Fprintln(env.stdout, address)
				}
				return err
			})
		},
	}
}

func newMCPShow(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "show SERVER TOOL", Short: "Show the approved definition of a tool, and the changed one that is held",
		Example: "  weir mcp show github search_code", Args: serverAndTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				v, err := d.MCP.Definition(cmd.Context(), args[0], args[1])
				if err != nil {
					return err
				}
				if env.asJSON {
					return printJSON(env.stdout, v)
				}
				if v.Approved == nil {
					_, err = fmt.Fprintln(env.stdout, "not approved yet")
				} else {
					_, err = fmt.Fprintf(env.stdout, "approved at %s:\n%s\n", timeText(v.Approved),
						indented(v.Definition))
				}
				if err == nil && v.Held != nil {
					_, err = fmt.Fprintf(env.stdout, "\nheld since %s, digest %s:\n%s\n", timeText(v.Changed),
						v.HeldDigest, indented(v.Held))
				}
				return err
			})
		},
	})
}

func indented(text json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return string(text)
	}
	return out.String()
}

func newMCPApprove(env *environment) *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use:   "approve SERVER TOOL",
		Short: "Approve the new or changed definition of a tool, so that it may be called",
		Long: "Approve the new or changed definition of a tool, so that it may be called. Read it before with\n" +
			"weir mcp show. With --digest, only the definition that you have read is approved.",
		Example: "  weir mcp approve github search_code", Args: serverAndTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				return d.MCP.Approve(cmd.Context(), actor(), args[0], args[1], digest)
			})
		},
	}
	cmd.Flags().StringVar(&digest, "digest", "", "the digest that weir mcp show printed")
	return cmd
}

func newMCPForget(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "forget SERVER", Short: "Remove the stored definitions of tools that a server no longer lists",
		Long: "Remove the stored definitions of tools that an MCP server no longer lists; of a server that is not\n" +
			"configured any more, all of them. If such a tool returns, its definition is a new one.",
		Example: "  weir mcp forget github", Args: oneArg("the name of an MCP server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				v, err := d.MCP.Forget(cmd.Context(), actor(), args[0])
				if err != nil {
					return err
				}
				if env.asJSON {
					return printJSON(env.stdout, v)
				}
				_, err = fmt.Fprintf(env.stdout, "removed %d definitions of %s\n", v.Definitions, v.Server)
				return err
			})
		},
	})
}
