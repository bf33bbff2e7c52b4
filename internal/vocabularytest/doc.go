// Package vocabularytest counts texts and requests with published vocabularies and chat templates, and checks that no
// bound of a budget is below the count. Node counts, with the packages in package-lock.json; the tests generate the
// texts.
package vocabularytest
