package api

import (
	"weir/internal/admin"
	"weir/internal/people"
)

// adminMCP implements the calls about the servers of tools.
type adminMCP struct{ mcp *admin.MCP }

// mcpRoutes returns the routes of the servers of tools.
func (ad *Admin) mcpRoutes(o *Options) []people.Route {
	const one = "/mcp/tools/{server}/{tool}"
	h := &adminMCP{o.Admin.MCP}
	return []people.Route{
		ad.route("GET /mcp/servers", people.Operate, h.servers, listing...),
		ad.route("GET /mcp/tools", people.Operate, h.tools, named("server")...),
		ad.route("GET "+one, people.Operate, h.show),
		ad.make("POST "+one+"/approve", people.Operate, h.approve),
		ad.make("POST /mcp/servers/{server}/forget", people.Operate, h.forget),
	}
}

func (h *adminMCP) servers(r *adminRequest) (answer, error) {
	all, err := h.mcp.Servers(r.Context())
	same := func(v *admin.MCPServerView) admin.MCPServerView { return *v }
	return listed(r.query, all, err, func(v *admin.MCPServerView) string { return v.Name }, same)
}

func (h *adminMCP) tools(r *adminRequest) (answer, error) {
	all, err := h.mcp.Tools(r.Context(), r.query.get("server"))
	same := func(v *admin.MCPToolView) admin.MCPToolView { return *v }
	return listed(r.query, all, err, func(v *admin.MCPToolView) string { return v.Name }, same)
}

func (h *adminMCP) show(r *adminRequest) (answer, error) {
	v, err := h.mcp.Definition(r.Context(), r.PathValue("server"), r.PathValue("tool"))
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

func (h *adminMCP) approve(r *adminRequest) (answer, error) {
	var digest string
	if err := readFields("", r.body, field{"digest", text(&digest)}); err != nil {
		return answer{}, err
	}
	if err := h.mcp.Approve(r.Context(), r.by(), r.PathValue("server"), r.PathValue("tool"), digest); err != nil {
		return answer{}, err
	}
	return h.show(r)
}

func (h *adminMCP) forget(r *adminRequest) (answer, error) {
	if err := readFields("", r.body); err != nil {
		return answer{}, err
	}
	v, err := h.mcp.Forget(r.Context(), r.by(), r.PathValue("server"))
	if err != nil {
		return answer{}, err
	}
	return found(v)
}
