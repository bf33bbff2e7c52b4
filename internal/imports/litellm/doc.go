// Package litellm reads what the LiteLLM proxy is configured by, its config.yaml and its PostgreSQL database, and says
// what that comes to here.
//
// The file is as https://docs.litellm.ai/docs/proxy/configs (of 2026-10-13) and
// https://docs.litellm.ai/docs/proxy/config_settings have it, the database as
// https://github.com/BerriAI/litellm/blob/main/schema.prisma does (looked at on 2026-11-26). A column or a member that
// is not there, as in other versions, says nothing.
package litellm
