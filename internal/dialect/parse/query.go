package parse

import (
	"errors"
	"fmt"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// QueryInt reads a whole number of a URL's query. Errors are *llm.Error.
func QueryInt(name, value string, absent, least, most int) (int, error) {
	if value == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		if f, ok := rawjson.AsInt([]byte(value)); ok {
			n, err = f, nil
		}
	}
	if err != nil || n < int64(least) || n > int64(most) {
		return 0, llm.Invalid(name, fmt.Sprintf("%s is %.40q: give an integer from %d to %d.", name, value, least,
			most))
	}
	return int(n), nil
}
