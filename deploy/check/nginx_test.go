package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/must"
)

// nginxMain is the file that includes weir.conf: one process in the foreground that writes below a directory.
const nginxMain = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    proxy_ignore_headers X-Accel-Buffering; # by which the gateway asks for pieces at once, too
    client_body_temp_path %[1]s/body;
    proxy_temp_path %[1]s/proxy;
    fastcgi_temp_path %[1]s/fastcgi;
    uwsgi_temp_path %[1]s/uwsgi;
    scgi_temp_path %[1]s/scgi;
    include %[1]s/weir.conf;
}
`

// TestNginx is nginx -t, and then chats through nginx as the file sets it up.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx := program(t, "nginx")
	text := read(t, "nginx/weir.conf")
	p := start(t, text, func(gateway, port string) {
		cert, key := certificate(t)
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "weir.conf"), []byte(replaced(t, text,
			"127.0.0.1:8080", gateway, "listen 443", "listen 127.0.0.1:"+port, "    listen [::]:443 ssl http2;\n", "",
			"/etc/ssl/weir/fullchain.pem", cert, "/etc/ssl/weir/privkey.pem", key)), 0o600))
		main := filepath.Join(dir, "nginx.conf")
		must.Do(t, os.WriteFile(main, fmt.Appendf(nil, nginxMain, dir), 0o600))
		args := []string{"-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", main}
		if out, err := run(t, nginx, append(args, "-t")...); err != nil {
			t.Fatalf("nginx -t: %v: %s", err, out)
		}
		serve(t, port, nginx, args...)
	})
	p.holdProxy(t, "HTTP/1.1", "HTTP/2")
}
