package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/managed"
	"weir/internal/mcp"
	"weir/internal/tool"
	"weir/internal/webhook"
)

// mostDefinitions bounds the stored definitions of a server, and mostStored their bytes, so that a server with ever new
// tools does not fill the database. Tools beyond them are held.
const mostDefinitions, mostStored = 2 * mcp.MaxTools, 64 << 20

// shelf has the digests of a server's stored definitions, by tool, and the bytes of all definitions.
type shelf struct {
	all     map[string]tool.Definition // without their texts
	size    int
	version int64    // grows with every change
	held    []string // tools that are held since the last look
}

// hasRoom reports whether a definition may be stored.
func (h *shelf) hasRoom(t *mcp.Tool) bool {
	_, known := h.all[t.Name]
	return (known || len(h.all) < mostDefinitions) && h.size+len(t.Definition) <= mostStored
}

// MCPTools stores the definitions of MCP servers' tools. It implements tool.Definitions.
type MCPTools struct{ *conn }

// Seen implements tool.Definitions. It writes only if something has changed.
func (s *MCPTools) Seen(ctx context.Context, seen *tool.Seen) (found tool.Shelf, err error) {
	h, err := shelfOf(ctx, s.read, seen.Server)
	if err != nil {
		return found, err
	}
	if states, changes := h.compare(seen.Tools); changes == 0 {
		return tool.Shelf{States: states, Version: h.version}, nil
	}
	err = s.write(ctx, s.sure, "store the definitions of tools", func(tx *sql.Tx) error {
		if h, err = shelfOf(ctx, tx, seen.Server); err != nil {
			return err
		}
		for i := range seen.Tools {
			if err := h.see(ctx, tx, seen, &seen.Tools[i]); err != nil {
				return err
			}
		}
		found.States, _ = h.compare(seen.Tools)
		if err := s.tellHeld(ctx, tx, seen, h); err != nil {
			return err
		}
		found.Version, err = renew(ctx, tx, seen.Server)
		return err
	})
	return found, err
}

// tellHeld reports the tools that wait for an approval since now, at most once an hour: a server may change them again
// and again.
func (s *MCPTools) tellHeld(ctx context.Context, tx *sql.Tx, seen *tool.Seen, h *shelf) error {
	const shown = 20
	if len(h.held) == 0 {
		return nil
	}
	held := &webhook.Held{Server: seen.Server, Count: int64(len(h.held)), Tools: h.held[:min(len(h.held), shown)]}
	now := s.clock.now()
	e := webhook.Event{Type: webhook.ToolsHeld, At: now, Data: webhook.Data{Held: held}}
	hour := now.Truncate(time.Hour)
	e.TellOnce(hour.Add(time.Hour), seen.Server, hour.Format(time.RFC3339))
	_, err := s.outbox.tell(ctx, tx, &e)
	return err
}

// renew gives the definitions of a server a new version.
func renew(ctx context.Context, tx *sql.Tx, server string) (version int64, err error) {
	err = tx.QueryRowContext(ctx, "INSERT INTO mcp_shelves (server, version) VALUES (?, 1) ON CONFLICT (server)"+
		" DO UPDATE SET version = mcp_shelves.version + 1 RETURNING version", server).Scan(&version)
	return version, err
}

// Version implements tool.Definitions.
func (s *MCPTools) Version(ctx context.Context, server string) (int64, error) {
	return versionOf(ctx, s.read, server)
}

func versionOf(ctx context.Context, q querier, server string) (version int64, err error) {
	rows, err := q.QueryContext(ctx, "SELECT version FROM mcp_shelves WHERE server = ?", server)
	scan := func(r scanner) (v int64, err error) { return v, r.Scan(&v) }
	err = each(rows, err, scan, func(v *int64) error {
		version = *v
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read the version of the definitions of tools: %w", err)
	}
	return version, nil
}

// see stores a definition that differs from the stored ones.
func (h *shelf) see(ctx context.Context, tx *sql.Tx, seen *tool.Seen, t *mcp.Tool) (err error) {
	server, at := seen.Server, seen.At
	d, known := h.all[t.Name]
	text := string(t.Definition)
	switch {
	case known && t.Digest == d.Digest && d.HeldDigest != "":
		d.HeldDigest = ""
		_, err = tx.ExecContext(ctx, "UPDATE mcp_tools SET held_digest = '', held_definition = '', changed = 0"+
			" WHERE server = ? AND tool = ?", server, t.Name)
	case known && (t.Digest == d.Digest || t.Digest == d.HeldDigest), !h.hasRoom(t):
		return nil
	case !known:
		d = tool.Definition{Digest: t.Digest, Text: text}
		approved := micros(at)
		var changed int64
		if seen.HoldNew {
			d = tool.Definition{HeldDigest: t.Digest, Held: text}
			approved, changed = 0, approved
			h.held = append(h.held, t.Name)
		}
		h.size += len(text)
		_, err = tx.ExecContext(ctx, "INSERT INTO mcp_tools (server, tool, digest, definition, held_digest,"+
			" held_definition, approved, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (server, tool) DO NOTHING",
			server, t.Name, d.Digest, d.Text, d.HeldDigest, d.Held, approved, changed)
		d.Text, d.Held = "", "" // a shelf has no texts
	default:
		d.HeldDigest = t.Digest
		h.held = append(h.held, t.Name)
		h.size += len(text)
		_, err = tx.ExecContext(ctx, "UPDATE mcp_tools SET held_digest = ?, held_definition = ?, changed = ?"+
			" WHERE server = ? AND tool = ?", t.Digest, text, micros(at), server, t.Name)
	}
	h.all[t.Name] = d
	return err
}

// compare returns the states of tools by the stored definitions, and how many tools differ from these.
func (h *shelf) compare(tools []mcp.Tool) (states map[string]tool.State, changes int) {
	states = make(map[string]tool.State, len(tools))
	for i := range tools {
		t := &tools[i]
		d, known := h.all[t.Name]
		states[t.Name] = tool.State{Held: !known || t.Digest != d.Digest}
		returned := known && t.Digest == d.Digest && d.HeldDigest != ""
		other := !known || t.Digest != d.Digest && t.Digest != d.HeldDigest
		if returned || other && h.hasRoom(t) {
			changes++
		}
	}
	return states, changes
}

// shelfOf reads the digests of a server's definitions, and not the definitions, which may be large.
func shelfOf(ctx context.Context, q querier, server string) (*shelf, error) {
	version, err := versionOf(ctx, q, server) // first: a change in between is seen by the next look
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "SELECT tool, digest, held_digest, octet_length(definition) +"+
		" octet_length(held_definition) FROM mcp_tools WHERE server = ?", server)
	h := &shelf{all: map[string]tool.Definition{}, version: version}
	scan := func(r scanner) (d tool.Definition, err error) {
		var size int
		err = r.Scan(&d.Tool, &d.Digest, &d.HeldDigest, &size)
		h.size += size
		return d, err
	}
	err = each(rows, err, scan, func(d *tool.Definition) error {
		h.all[d.Tool] = *d
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the definitions of tools: %w", err)
	}
	return h, nil
}

func scanDefinition(r scanner) (d tool.Definition, err error) {
	var approved, changed int64
	err = r.Scan(&d.Server, &d.Tool, &d.Digest, &d.Text, &d.HeldDigest, &d.Held, &approved, &changed)
	if approved != 0 {
		d.Approved = new(fromMicros(approved))
	}
	if changed != 0 {
		d.Changed = new(fromMicros(changed))
	}
	return d, err
}

// definitionOf reads the definition of a tool; the zero value if there is none.
func definitionOf(ctx context.Context, q querier, server, name string) (found tool.Definition, err error) {
	rows, err := q.QueryContext(ctx, "SELECT server, tool, digest, definition, held_digest, held_definition,"+
		" approved, changed FROM mcp_tools WHERE server = ? AND tool = ?", server, name)
	err = each(rows, err, scanDefinition, func(d *tool.Definition) error {
		found = *d
		return nil
	})
	return found, err
}

// List returns the definitions of a server's tools, or of all if server is empty, by server and tool.
func (s *MCPTools) List(ctx context.Context, server string) ([]tool.Definition, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT server, tool, digest, definition, held_digest, held_definition,"+
		" approved, changed FROM mcp_tools WHERE server = ? OR ? = '' ORDER BY server, tool", server, server)
	return listed("read the definitions of tools", rows, err, scanDefinition)
}

// errNotHeld means that no such definition is held.
var errNotHeld = errors.New("no changed definition of this tool is held")

// Approve approves the held definition of a tool, if it is the one with that digest; empty for any. It returns
// managed.ErrChanged if it is another one by now, and managed.ErrUnknown if none is held.
func (s *MCPTools) Approve(ctx context.Context, by audit.Actor, server, name, digest string) error {
	return s.write(ctx, s.sure, "approve a tool", func(tx *sql.Tx) error {
		d, err := definitionOf(ctx, tx, server, name)
		if err != nil {
			return err
		}
		switch {
		case d.HeldDigest == "":
			return fmt.Errorf("%w: %w", errNotHeld, managed.ErrUnknown)
		case digest != "" && digest != d.HeldDigest:
			return managed.ErrChanged
		}
		_, err = tx.ExecContext(ctx, "UPDATE mcp_tools SET digest = held_digest, definition = held_definition,"+
			" held_digest = '', held_definition = '', approved = ?, changed = 0 WHERE server = ? AND tool = ?",
			micros(s.clock.now()), server, name)
		if err == nil {
			_, err = renew(ctx, tx, server)
		}
		if err != nil {
			return err
		}
		return (&Managed{s.conn}).noteChange(ctx, tx, by, audit.ConfigChanged, &managed.Change{
			Section: "mcp_tools", Name: server + "/" + name,
			Before: map[string]any{"definition": clipped(d.Text)},
			After:  map[string]any{"definition": clipped(d.Held)},
		})
	})
}

// Forget removes the definitions of a server's tools, except for those of the kept names, and returns how many it has
// removed.
func (s *MCPTools) Forget(ctx context.Context, by audit.Actor, server string, kept map[string]bool) (n int, err error) {
	err = s.write(ctx, s.sure, "forget definitions of tools", func(tx *sql.Tx) error {
		n = 0 // the transaction may be repeated
		h, err := shelfOf(ctx, tx, server)
		if err != nil {
			return err
		}
		for name := range h.all {
			if kept[name] {
				continue
			}
			n++
			_, err := tx.ExecContext(ctx, "DELETE FROM mcp_tools WHERE server = ? AND tool = ?", server, name)
			if err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
		if _, err := renew(ctx, tx, server); err != nil {
			return err
		}
		return (&Managed{s.conn}).noteChange(ctx, tx, by, audit.ConfigChanged, &managed.Change{
			Section: "mcp_tools", Name: server,
			Before: map[string]any{"definitions": len(h.all)}, After: map[string]any{"definitions": len(h.all) - n},
		})
	})
	return n, err
}

// clipped returns the begin of a definition, for the audit log.
func clipped(text string) string {
	const most = 4000
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
