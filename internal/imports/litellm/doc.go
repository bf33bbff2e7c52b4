// Package litellm reads config.yaml, the configuration of the LiteLLM proxy, and its PostgreSQL database, and converts
// them to a plan.
//
// The format of the file is that of https://docs.litellm.ai/docs/proxy/configs (2026-10-13) and
// https://docs.litellm.ai/docs/proxy/config_settings, that of the database
// https://github.com/BerriAI/litellm/blob/main/schema.prisma (2026-11-26). Columns and members that other versions lack
// are treated as unset.
package litellm
