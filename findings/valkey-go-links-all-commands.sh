#!/usr/bin/env bash
# github.com/valkey-io/valkey-go v1.0.79 has a type for each step of each command, and its Client has a method that leads
# to all of them. In a program that also uses text/template, which calls methods by their names, the linker must keep
# every method of every type that can be reached: all 17,000 functions of the commands, even if one command is used.
#
# Output seen on 2026-11-29, with Go 1.26.8:
#   without templates: under 1000 functions of commands
#   with templates: over 15000 functions of commands
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"

mkdir without with
cat >without/main.go <<'GO'
package main

import (
	"context"
	"fmt"

	"github.com/valkey-io/valkey-go"
)

func main() {
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{"127.0.0.1:1"}})
	if err == nil {
		err = client.Do(context.Background(), client.B().Ping().Build()).Error()
	}
	fmt.Println(err)
}
GO
sed 's|"fmt"|"os"\n\t"text/template"|; s|fmt.Println(err)|_ = template.New("").Execute(os.Stdout, err)|' \
	without/main.go >with/main.go
go mod init finding >/dev/null 2>&1
go get github.com/valkey-io/valkey-go@v1.0.79 >/dev/null 2>&1

for kind in without with; do
	go build -o program "./$kind"
	n=$(go tool nm program | grep -c 'valkey-go/internal/cmds\.' || true)
	said="$n"
	[ "$n" -lt 1000 ] && said="under 1000"
	[ "$n" -gt 15000 ] && said="over 15000"
	echo "$kind templates: $said functions of commands"
done | tee seen
diff seen - <<'WANT'
without templates: under 1000 functions of commands
with templates: over 15000 functions of commands
WANT
