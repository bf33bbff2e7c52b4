// Package storetest has the tests that every database engine must pass. A new engine adds one call of Run.
package storetest

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/store"
	"weir/internal/store/opentest"
)

// Run tests the store on databases of backend: each call of it returns the Path or URL of an empty one, which is
// removed after the test.
func Run(t *testing.T, backend func(t *testing.T) store.Options) {
	tests := []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"Accounts", testAccounts},
		{"Keys", testKeys},
		{"PriceLists", testPriceLists},
		{"Bootstrap", testBootstrap},
		{"SetupToken", testSetupToken},
		{"Audit", testAudit},
		{"Version", testVersion},
		{"AuditFailed", testAuditFailed},
		{"AuditQueries", testAuditQueries},
		{"AuditWriters", testAuditWriters},
		{"KeyChanges", testKeyChanges},
		{"Grants", testGrants},
		{"GrantsEnd", testGrantsEnd},
		{"GrantsEndByAccessToken", testGrantsEndByAccessToken},
		{"GrantsExpire", testGrantsExpire},
		{"Connections", testConnections},
		{"ConnectionResealed", testConnectionResealed},
		{"Changes", testChanges},
		{"ChangesPruned", testChangesPruned},
		{"Position", testPosition},
		{"OpenAttempts", testOpenAttempts},
		{"SettledOnce", testSettledOnce},
		{"SetAside", testSetAside},
		{"Rejected", testRejected},
		{"Entries", testEntries},
		{"Texts", testTexts},
		{"Midnight", testMidnight},
		{"Uses", testUses},
		{"UsesPages", testUsesPages},
		{"UsesByMinute", testUsesByMinute},
		{"UsesSpeeds", testUsesSpeeds},
		{"Overview", testOverview},
		{"ReportRanges", testReportRanges},
		{"KeySpend", testKeySpend},
		{"KeysUsed", testKeysUsed},
		{"AccountsOverview", testAccountsOverview},
		{"Unpriced", testUnpriced},
		{"Unseen", testUnseen},
		{"ExportNames", testExportNames},
		{"Replayed", testReplayed},
		{"Requests", testRequests},
		{"RequestsFiltered", testRequestsFiltered},
		{"RequestsPages", testRequestsPages},
		{"RequestsRare", testRequestsRare},
		{"RequestsSince", testRequestsSince},
		{"Request", testRequest},
		{"Resolve", testResolve},
		{"ResolveOlder", testResolveOlder},
		{"ResolveOlderSeen", testResolveOlderSeen},
		{"ResolveOlderAtOnce", testResolveOlderAtOnce},
		{"Correct", testCorrect},
		{"CorrectRefused", testCorrectRefused},
		{"CorrectAtOnce", testCorrectAtOnce},
		{"Questions", testQuestions},
		{"QuestionsAtOnce", testQuestionsAtOnce},
		{"AnswerQuestion", testAnswerQuestion},
		{"ProviderTellsMore", testProviderTellsMore},
		{"Verify", testVerify},
		{"Retain", testRetain},
		{"RetainUnresolved", testRetainUnresolved},
		{"RetainAtOnce", testRetainAtOnce},
		{"Attribution", testAttribution},
		{"AttributionNamed", testAttributionNamed},
		{"AttributionOfClosed", testAttributionOfClosed},
		{"Idempotency", testIdempotency},
		{"IdempotencyOwners", testIdempotencyOwners},
		{"Responses", testResponses},
		{"ResponseItems", testResponseItems},
		{"ResponsesExpire", testResponsesExpire},
		{"Kept", testKept},
		{"KeptQuota", testKeptQuota},
		{"KeptAtOnce", testKeptAtOnce},
		{"KeptTogether", testKeptTogether},
		{"KeptDisk", testKeptDisk},
		{"KeptPurged", testKeptPurged},
		{"Import", testImport},
		{"ImportMany", testImportMany},
		{"ImportAgain", testImportAgain},
		{"ImportFailed", testImportFailed},
		{"Openings", testOpenings},
		{"Balances", testBalances},
		{"Credit", testCredit},
		{"CreditAtOnce", testCreditAtOnce},
		{"Goodwill", testGoodwill},
		{"Lease", testLease},
		{"Per", testPer},
		{"Parts", testParts},
		{"Leases", testLeases},
		{"Nodes", testNodes},
		{"Wanted", testWanted},
		{"Passed", testPassed},
		{"Lowered", testLowered},
		{"RetainBudgets", testRetainBudgets},
		{"Thresholds", testThresholds},
		{"Writers", testWriters},
		{"Cancelled", testCancelled},
		{"AccountWhole", testAccountWhole},
		{"People", testPeople},
		{"PeopleAudit", testPeopleAudit},
		{"Proven", testProven},
		{"PeopleSessions", testPeopleSessions},
		{"SecondFactor", testSecondFactor},
		{"Passkeys", testPasskeys},
		{"DisabledOwner", testDisabledOwner},
		{"Links", testLinks},
		{"Arrive", testArrive},
		{"Throttle", testThrottle},
		{"Webhooks", testWebhooks},
		{"WebhookBounds", testWebhookBounds},
		{"WebhookMakers", testWebhookMakers},
		{"Audience", testAudience},
		{"Once", testOnce},
		{"Deliveries", testDeliveries},
		{"Stale", testStale},
		{"Takers", testTakers},
		{"EndpointFares", testEndpointFares},
		{"Exceeded", testExceeded},
		{"Expiring", testExpiring},
		{"UsageDaily", testUsageDaily},
		{"UnpricedEvents", testUnpricedEvents},
		{"RetainEvents", testRetainEvents},
		{"Reseal", testReseal},
		{"MovedEndpoint", testMovedEndpoint},
		{"TriesKept", testTriesKept},
		{"TriesInFull", testTriesInFull},
		{"CreditAgain", testCreditAgain},
		{"Removed", testRemoved},
		{"UnpricedOrder", testUnpricedOrder},
		{"Everybody", testEverybody},
		{"WrongClock", testWrongClock},
		{"Recover", testRecover},
		{"RecoverMany", testRecoverMany},
		{"Woken", testWoken},
		{"AlertFacts", testAlertFacts},
		{"AlertFactsShared", testAlertFactsShared},
		{"Alerts", testAlerts},
		{"AlertLimits", testAlertLimits},
		{"AlertsRecovered", testAlertsRecovered},
		{"AlertsClaimed", testAlertsClaimed},
		{"Refusals", testRefusals},
		{"RefusalsShared", testRefusalsShared},
		{"RefusalsOfAll", testRefusalsOfAll},
		{"Sockets", testSockets},
		{"Answers", testAnswers},
		{"AnswersQuota", testAnswersQuota},
		{"RefusalsFiltered", testRefusalsFiltered},
		{"RefusalsRetained", testRefusalsRetained},
		{"RefusalsOfClosed", testRefusalsOfClosed},
		{"Content", testContent},
		{"ContentQuota", testContentQuota},
		{"ContentQuotaOfTwoNodes", testContentQuotaOfTwoNodes},
		{"ContentRetained", testContentRetained},
		{"ContentResealed", testContentResealed},
		{"ContentOfClosed", testContentOfClosed},
		{"ContentSwitched", testContentSwitched},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{options: backend(t), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
			f.options.Clock = f.clock
			f.options.Log = slog.New(slog.NewTextHandler(f, nil))
			f.DB = f.open(t)
			test.run(t, f)
		})
	}
}

// fixture is an open store with a stopped clock and a readable log.
type fixture struct {
	*store.DB
	options store.Options

	mu  sync.Mutex
	now time.Time
	log strings.Builder
}

// open opens the database again, like a second process.
func (f *fixture) open(t *testing.T) *store.DB {
	t.Helper()
	return opentest.Open(t, f.options)
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// Write appends to the log.
func (f *fixture) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(p)
}

func (f *fixture) logged() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.String()
}

// testVersion checks the name and the version of the engine.
func testVersion(t *testing.T, f *fixture) {
	got, err := f.Version(t.Context())
	if name, version, _ := strings.Cut(got, " "); err != nil || name != "SQLite" && name != "PostgreSQL" ||
		version == "" || version[0] < '1' || version[0] > '9' {
		t.Errorf("got %q, %v; want the name of the engine and its version", got, err)
	}
}
