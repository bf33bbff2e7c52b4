// Package vocabularytest counts texts and requests by published vocabularies and chat templates, and holds that no bound
// of a budget is below. Node counts, by the packages that package-lock.json names; the tests make the texts.
package vocabularytest
