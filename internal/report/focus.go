package report

import (
	"encoding/csv"
	"io"
	"strings"

	"weir/internal/audit"
)

// FOCUSVersions returns the supported versions of the FinOps Open Cost and Usage Specification, newest last: those of
// 2025-05-29, 2025-12-04 and 2026-06-04 (https://focus.finops.org/focus-specification/).
func FOCUSVersions() []string { return []string{"1.2", "1.3", "1.4"} }

// focusColumn is a column of the versions from since to until, both inclusive.
type focusColumn struct {
	name         string
	value        func(*focusCharge) string
	since, until string // empty for no bound
}

// is reports whether a version has the column. Versions sort as text.
func (c *focusColumn) is(version string) bool {
	return c.since <= version && (c.until == "" || version <= c.until)
}

// focusColumns lists the columns of FOCUS: all mandatory columns of a version, and the recommended and conditional ones
// that have a value. Custom columns come last and begin with x_; x_CredentialId, x_PrincipalId and x_Token… are columns
// of the draft of 1.5, whose names lack x_.
//
// A row is a charge: an attempt's usage of one class, at its price. An attempt has only one row if its cost is not the
// sum of these: if it is the provider's own figure, of unknown outcome, or corrected. The sum of BilledCost over all
// rows is the ledger's cost, and that of x_CostAtMost its upper bound. An attempt without usage has no row.
//
// A cost column must not be null, and an unknown cost is not 0. Therefore usage without a known price has no row, and
// x_Unpriced lists its classes in the other rows of the attempt.
var focusColumns = []focusColumn{
	{name: "BilledCost", value: (*focusCharge).billed},
	{name: "BillingAccountId", value: constant("weir")},
	{name: "BillingAccountName", value: constant("Weir")},
	{name: "BillingCurrency", value: constant("USD")},
	{name: "BillingPeriodEnd", value: (*focusCharge).periodEnd},
	{name: "BillingPeriodStart", value: func(c *focusCharge) string { return focusTime(monthOf(c.of.Arrived)) }},
	{name: "ChargeCategory", value: func(c *focusCharge) string { return either(c.isUsage(), "Usage", "Adjustment") }},
	{name: "ChargeClass", value: constant("")}, // there is no invoice to correct
	{name: "ChargeDescription", value: func(c *focusCharge) string { return c.meter + " of " + c.of.FullModel() }},
	{name: "ChargeFrequency", value: (*focusCharge).frequency},
	{name: "ChargePeriodEnd", value: (*focusCharge).ends},
	{name: "ChargePeriodStart", value: func(c *focusCharge) string { return focusTime(c.of.Arrived) }},
	{name: "ConsumedQuantity", value: (*focusCharge).quantity},
	{name: "ConsumedUnit", value: (*focusCharge).unitName},
	{name: "ContractedCost", value: (*focusCharge).billed},
	{name: "EffectiveCost", value: (*focusCharge).billed},
	{name: "HostProviderName", value: (*focusCharge).provider, since: "1.3"},
	{name: "InvoiceId", value: constant("")},
	{name: "InvoiceIssuerName", value: (*focusCharge).provider},
	{name: "ListCost", value: (*focusCharge).listCost},
	{name: "ListUnitPrice", value: (*focusCharge).listUnitPrice},
	{name: "PricingCategory", value: func(c *focusCharge) string { return either(c.priced, "Standard", "Other") }},
	{name: "PricingQuantity", value: (*focusCharge).pricingQuantity},
	{name: "PricingUnit", value: (*focusCharge).pricingUnit},
	{name: "ProviderName", value: (*focusCharge).provider, until: "1.3"},
	{name: "PublisherName", value: (*focusCharge).provider, until: "1.3"},
	{name: "RegionId", value: (*focusCharge).region},
	{name: "RegionName", value: (*focusCharge).region},
	{name: "ResourceId", value: func(c *focusCharge) string { return c.of.ID.String() }},
	{name: "ResourceName", value: func(c *focusCharge) string { return audit.PlainCell(c.of.Model) }},
	{name: "ResourceType", value: constant("Model call")},
	{name: "ServiceCategory", value: constant("AI and Machine Learning")},
	{name: "ServiceName", value: constant("Model inference")},
	{name: "ServiceProviderName", value: (*focusCharge).provider, since: "1.3"},
	{name: "ServiceSubcategory", value: constant("Generative AI")},
	{name: "SkuId", value: (*focusCharge).sku},
	{name: "SkuMeter", value: func(c *focusCharge) string { return c.meter }},
	{name: "SkuPriceDetails", value: (*focusCharge).skuDetails},
	{name: "SkuPriceId", value: (*focusCharge).skuPrice},
	{name: "SubAccountId", value: func(c *focusCharge) string { return c.of.Account }},
	{name: "SubAccountName", value: (*focusCharge).subAccount},
	{name: "Tags", value: (*focusCharge).tags},
	{name: "x_CostAtMost", value: func(c *focusCharge) string { return (c.cost + c.beyond).Fixed() }},
	{name: "x_CredentialId", value: func(c *focusCharge) string { return c.of.Key }},
	{name: "x_EndUser", value: func(c *focusCharge) string { return audit.PlainCell(c.of.Attribution.User) }},
	{name: "x_InputTokens", value: func(c *focusCharge) string { return count(c.used.InputTokens()) }},
	{name: "x_KeyId", value: func(c *focusCharge) string { return c.of.Key }},
	{name: "x_KeyLabel", value: func(c *focusCharge) string { return audit.PlainCell(c.of.KeyLabel) }},
	{name: "x_ModelId", value: func(c *focusCharge) string { return audit.PlainCell(c.of.Model) }},
	{name: "x_OutputTokens", value: func(c *focusCharge) string { return count(c.used.OutputTokens()) }},
	{name: "x_PriceVersion", value: func(c *focusCharge) string { return c.of.Price.Version }},
	{name: "x_PrincipalId", value: func(c *focusCharge) string { return audit.PlainCell(c.of.Attribution.User) }},
	{name: "x_Provenance", value: func(c *focusCharge) string { return string(c.of.Provenance) }},
	{name: "x_TokenCacheAction", value: (*focusCharge).cacheAction},
	{name: "x_TokenDirection", value: (*focusCharge).direction},
	{name: "x_Unpriced", value: func(c *focusCharge) string { return strings.Join(c.of.Unpriced.Names(), " ") }},
}

// exportFOCUS writes charges in a version of FOCUS.
func exportFOCUS(version string, w io.Writer, each Attempts) (o Omitted, err error) {
	out := csv.NewWriter(w)
	var row []string
	var columns []focusColumn
	for i := range focusColumns {
		if focusColumns[i].is(version) {
			row, columns = append(row, focusColumns[i].name), append(columns, focusColumns[i])
		}
	}
	if err := out.Write(row); err != nil {
		return o, err
	}
	err = each(func(e *Exported) error {
		charges := chargesOf(e)
		switch {
		case e.Unpriced == 0:
		case len(charges) == 0:
			o.Whole++
		default:
			o.Part++
		}
		for i := range charges {
			for k := range columns {
				row[k] = columns[k].value(&charges[i])
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
		return nil
	})
	if out.Flush(); err != nil {
		return o, err
	}
	return o, out.Error()
}
