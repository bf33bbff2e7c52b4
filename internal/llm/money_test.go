package llm_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/llm"

	"weir/internal/worktest"
)

func TestMoneyString(t *testing.T) {
	t.Parallel()
	tests := map[llm.Money]string{
		0:                    "0",
		1:                    "0.000000001",
		-1:                   "-0.000000001",
		300_000_000:          "0.3",
		12 * llm.USD:         "12",
		-1_500_000_000:       "-1.5",
		1_000_000_001:        "1.000000001",
		10_010_000_000:       "10.01",
		math.MaxInt64:        "9223372036.854775807",
		math.MinInt64:        "-9223372036.854775808",
		100 * llm.USD:        "100",
		llm.USD/10 + llm.USD: "1.1",
	}
	for m, want := range tests {
		if got := m.String(); got != want {
			t.Errorf("Money(%d): got %q, want %q", int64(m), got, want)
		}
		if got := string(m.AppendText([]byte("$"))); got != "$"+want {
			t.Errorf("AppendText(%d): got %q, want %q", int64(m), got, "$"+want)
		}
		whole, decimals, _ := strings.Cut(want, ".")
		if got, want := m.Fixed(), whole+"."+(decimals + "000000000")[:9]; got != want {
			t.Errorf("Fixed(%d): got %q, want %q", int64(m), got, want)
		}
	}
}

func TestParseMoney(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want llm.Money
		err  string // part of the message
	}{
		{"5", 5 * llm.USD, ""},
		{"0.25", 250_000_000, ""},
		{"-1.5", -1_500_000_000, ""},
		{"-0", 0, ""},
		{"0.000000001", 1, ""},
		{"1.00000000000000000000", llm.USD, ""},
		{"9223372036.854775807", math.MaxInt64, ""},
		{"9223372036.854775808", 0, "too large"},
		{"99999999999999999999999", 0, "too large"},
		{"0.0000000001", 0, "more than 9 decimals"},
		{"", 0, "plain decimal"},
		{"-", 0, "plain decimal"},
		{".", 0, "plain decimal"},
		{".5", 0, "plain decimal"},
		{"5.", 0, "plain decimal"},
		{"+5", 0, "plain decimal"},
		{"--5", 0, "plain decimal"},
		{"1.-5", 0, "plain decimal"},
		{"1.2.3", 0, "plain decimal"},
		{"1e3", 0, "plain decimal"},
		{"1,5", 0, "plain decimal"},
		{" 5", 0, "plain decimal"},
		{"$5", 0, "plain decimal"},
		{"NaN", 0, "plain decimal"},
		{"0x10", 0, "plain decimal"},
		{"٣", 0, "plain decimal"},
		{"1.0x", 0, "plain decimal"},
		{"1.abcdefghijkl", 0, "plain decimal"}, // not "too many decimals"
	}
	for _, tt := range tests {
		got, err := llm.ParseMoney(tt.in)
		if got != tt.want || (err == nil) != (tt.err == "") {
			t.Errorf("ParseMoney(%q): got %s, %v, want %s, %q", tt.in, got, err, tt.want, tt.err)
		}
		if err != nil && (!strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), tt.in)) {
			t.Errorf("ParseMoney(%q): got error %q, want %q and the input in it", tt.in, err, tt.err)
		}
	}
}

func TestMoneyRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := llm.Money(rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(t, "nano"))
		if got, err := llm.ParseMoney(m.String()); got != m || err != nil {
			t.Fatalf("ParseMoney(%s): got %d, %v, want %d", m, got, err, m)
		}
		exact := new(big.Rat).SetFrac64(int64(m), int64(llm.USD))
		if got, ok := new(big.Rat).SetString(m.String()); !ok || got.Cmp(exact) != 0 {
			t.Fatalf("String of %d: got %s, want %s", int64(m), m, exact)
		}
		b, err := json.Marshal(map[string]llm.Money{"cost": m})
		var back map[string]llm.Money
		if err != nil || json.Unmarshal(b, &back) != nil || back["cost"] != m {
			t.Fatalf("JSON of %d: got %s, back %v, %v", int64(m), b, back, err)
		}
	})
}

func TestMoneyRefusesOtherJSON(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`"5"`, `true`, `{}`, `[1]`, `1e-7`, `0.0000000001`, `1E3`} {
		var m llm.Money
		if err := json.Unmarshal([]byte(in), &m); err == nil {
			t.Errorf("Money from %s: got %s, want an error", in, m)
		}
	}
}

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"5", "-0.25", "9223372036.854775807", "1e3", "", ".", "00.10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		worktest.Check(t, []byte(s), func(b []byte) { _, _ = llm.ParseMoney(string(b)) })
		m, err := llm.ParseMoney(s)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(s)
		if got := new(big.Rat).SetFrac64(int64(m), int64(llm.USD)); !ok || got.Cmp(want) != 0 {
			t.Errorf("ParseMoney(%q): got %s, want %v", s, m, want)
		}
	})
}
