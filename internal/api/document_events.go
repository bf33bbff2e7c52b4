package api

import (
	"fmt"

	"github.com/goccy/go-yaml"

	"weir/internal/webhook"
)

// addEvents adds the webhooks to the document (https://spec.openapis.org/oas/v3.1.0#oas-webhooks): one for each type
// of event, with its example. The schemas of their data are in the files, by the type's name.
func addEvents(whole yaml.MapSlice) (yaml.MapSlice, error) {
	var events yaml.MapSlice
	for _, k := range append(webhook.Kinds(), testKind()) {
		e, err := eventItem(&k)
		if err != nil {
			return nil, fmt.Errorf("openapi: %s: %w", k.Type, err)
		}
		events = append(events, yaml.MapItem{Key: string(k.Type), Value: e})
	}
	return append(whole, yaml.MapItem{Key: "webhooks", Value: events}), nil
}

// testKind returns the type of test events, which cannot be subscribed to.
func testKind() webhook.Kind {
	e := webhook.Kinds()[0].Example
	e.Type, e.Data = webhook.Test, webhook.Data{
		Account:   e.Data.Account,
		WebhookID: "019a9e25-6b0d-7f3e-8a51-c4d27e90b1f6",
	}
	return webhook.Kind{Type: webhook.Test, About: "A test event, sent by hand to check the receiver.", Example: e}
}

// eventItem returns the description of a type.
func eventItem(k *webhook.Kind) (yaml.MapSlice, error) {
	payload, err := k.Example.Payload()
	if err != nil {
		return nil, err
	}
	var example yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(payload, &example, yaml.UseOrderedMap()); err != nil { // JSON is YAML
		return nil, err
	}
	ref := func(place string) yaml.MapSlice { return yaml.MapSlice{{Key: "$ref", Value: "#/components/" + place}} }
	data := yaml.MapSlice{
		{Key: "type", Value: yaml.MapSlice{{Key: "const", Value: string(k.Type)}}},
		{Key: "data", Value: ref("schemas/EventData." + string(k.Type))},
	}
	schema := yaml.MapSlice{
		{Key: "allOf", Value: []any{ref("schemas/Event"), yaml.MapSlice{{Key: "properties", Value: data}}}},
	}
	media := yaml.MapSlice{{Key: "application/json", Value: yaml.MapSlice{
		{Key: "schema", Value: schema},
		{Key: "example", Value: example},
	}}}
	post := yaml.MapSlice{
		{Key: "operationId", Value: "event." + string(k.Type)},
		{Key: "tags", Value: []any{"Webhooks"}},
		{Key: "summary", Value: k.About},
		{Key: "security", Value: []any{}},
		{Key: "parameters", Value: []any{
			ref("parameters/EventId"), ref("parameters/EventTimestamp"), ref("parameters/EventSignature"),
		}},
		{Key: "requestBody", Value: yaml.MapSlice{{Key: "required", Value: true}, {Key: "content", Value: media}}},
		{Key: "responses", Value: yaml.MapSlice{
			{Key: "2XX", Value: yaml.MapSlice{{Key: "description", Value: "The event was received."}}},
			{Key: "410", Value: yaml.MapSlice{
				{Key: "description", Value: "The receiver wants no more events. Weir disables the endpoint."},
			}},
			{
				Key:   "default",
				Value: yaml.MapSlice{{Key: "description", Value: "The event is sent again, for up to three days."}},
			},
		}},
	}
	return yaml.MapSlice{{Key: "post", Value: post}}, nil
}
