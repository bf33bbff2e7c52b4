package check_test

import "testing"

// nginxMain is the file that includes weir.conf: one process in the foreground that writes below a directory.
const nginxMain = `
daemon off;
master_process off;
pid DIR/nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    proxy_ignore_headers X-Accel-Buffering; # by which the gateway asks for pieces at once, too
    client_body_temp_path DIR/body;
    proxy_temp_path DIR/proxy;
    fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi;
    scgi_temp_path DIR/scgi;
    include DIR/weir.conf;
}
`

// TestChatsThroughNginx runs nginx -t, and then chats through nginx with the file.
func TestChatsThroughNginx(t *testing.T) {
	t.Parallel()
	nginx := standalone{
		program: "nginx", file: "nginx/weir.conf", main: nginxMain,
		edits: []string{
			"listen 443", "listen 127.0.0.1:PORT", "    listen [::]:443 ssl http2;\n", "",
			"/etc/ssl/weir/fullchain.pem", "CERT", "/etc/ssl/weir/privkey.pem", "KEY",
		},
		args: []string{"-p", "DIR", "-e", "DIR/error.log", "-c", "CONF"}, check: "-t",
	}
	p := nginx.start(t)
	p.holdProxy(t, "HTTP/1.1", "HTTP/2")
}
