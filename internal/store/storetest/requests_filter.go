package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// testRequestsFiltered checks each filter of a list of requests.
func testRequestsFiltered(t *testing.T, f *fixture) {
	plain, failed := came(0), came(time.Minute)
	plain.Cost, plain.AtMost = 100, 0
	plain.Attribution = llm.Attribution{
		User: "ada",
		Tags: []llm.Tag{{Name: "team", Value: "ml"}, {Name: "step", Value: "1"}},
	}
	failed.Outcome, failed.Counts, failed.Cost, failed.AtMost = ledger.OutcomeRejected, false, 0, 0
	failed.Status, failed.Code, failed.ReplyID = 529, llm.CodeProviderError, "req_011CSHoEeqs5C35K2UUqR7Fy"
	failed.Attribution = llm.Attribution{User: "bob", Tags: []llm.Tag{{Name: "team", Value: "ml"}}}
	rescued := then(failed, time.Second)
	rescued.Settlement = plain.Settlement
	rescued.Cost = 300
	apply(t, f, newTape().next(nil, plain, failed, rescued))
	first, second := plain.ID.Request, failed.ID.Request
	both := []uuid.UUID{second, first}
	for name, test := range map[string]struct {
		query report.RequestsQuery
		want  []uuid.UUID
	}{
		"all":                   {report.RequestsQuery{}, both},
		"id":                    {report.RequestsQuery{ID: first}, []uuid.UUID{first}},
		"id of another account": {report.RequestsQuery{ID: first, Account: "acc_b"}, nil},
		"unknown id":            {report.RequestsQuery{ID: uuid.UUID{1}}, nil},
		"id and its end user":   {report.RequestsQuery{ID: first, User: "ada"}, []uuid.UUID{first}},
		"id, another end user":  {report.RequestsQuery{ID: first, User: "bob"}, nil},
		"id and a status":       {report.RequestsQuery{ID: second, Status: 529}, []uuid.UUID{second}},
		"reply id":              {report.RequestsQuery{ReplyID: "req_011CSHoEeqs5C35K2UUqR7Fy"}, []uuid.UUID{second}},
		"unknown reply id":      {report.RequestsQuery{ReplyID: "req_011"}, nil},
		"requested model":       {report.RequestsQuery{Requested: "fast"}, both},
		"another model":         {report.RequestsQuery{Requested: "openai/next"}, nil},
		"model of an attempt":   {report.RequestsQuery{Model: "openai/next"}, []uuid.UUID{second}},
		"end user":              {report.RequestsQuery{User: "ada"}, []uuid.UUID{first}},
		"tag":                   {report.RequestsQuery{Tags: []llm.Tag{{Name: "team", Value: "ml"}}}, both},
		"tags": {report.RequestsQuery{Tags: []llm.Tag{
			{Name: "team", Value: "ml"},
			{Name: "step", Value: "1"},
		}}, []uuid.UUID{first}},
		"other value of a tag": {report.RequestsQuery{Tags: []llm.Tag{{Name: "team", Value: "m"}}}, nil},
		"status of an attempt": {report.RequestsQuery{Status: 529}, []uuid.UUID{second}},
		"status of all":        {report.RequestsQuery{Status: 200}, both},
		"error code":           {report.RequestsQuery{Code: llm.CodeProviderError}, []uuid.UUID{second}},
		"least cost": {
			report.RequestsQuery{Costs: report.MoneyRange{Least: new(llm.Money(101))}},
			[]uuid.UUID{second},
		},
		"most cost": {
			report.RequestsQuery{Costs: report.MoneyRange{Most: new(llm.Money(100))}},
			[]uuid.UUID{first},
		},
		"between two costs": {report.RequestsQuery{Costs: report.MoneyRange{
			Least: new(llm.Money(100)),
			Most:  new(llm.Money(300)),
		}}, both},
		"since": {report.RequestsQuery{Since: noon.Add(time.Second)}, []uuid.UUID{second}},
		"until": {report.RequestsQuery{Until: noon.Add(time.Second)}, []uuid.UUID{first}},
		"in a second": {
			report.RequestsQuery{Since: noon.Add(-time.Second), Until: noon.Add(time.Second)},
			[]uuid.UUID{first},
		},
		"since of a later day":   {report.RequestsQuery{Since: noon.Add(24 * time.Hour)}, nil},
		"until of an earlier":    {report.RequestsQuery{Until: noon.Add(-24 * time.Hour)}, nil},
		"user and another's tag": {report.RequestsQuery{User: "bob", Tags: []llm.Tag{{Name: "step", Value: "1"}}}, nil},
	} {
		got, next := requests(t, f, test.query)
		must.Equal(t, ids(got), test.want, "%s", name)
		must.Equal(t, next, report.Cursor{}, "next page of %s", name)
	}
	got, _ := requests(t, f, report.RequestsQuery{ID: second})
	must.Equal(t, got[0].Attribution, failed.Attribution, "end user and tags of a request")
	must.Equal(t, got[0].ReplyID, failed.ReplyID, "the provider's id of a request")
}
