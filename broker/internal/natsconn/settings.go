package natsconn

import (
	"crypto/tls"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/hocon"
)

// Settings say where the servers are and who we are. The protocols' Config structs have the same fields, with their
// documentation.
type Settings struct {
	Servers         broker.Endpoints
	Name            string
	User            string
	Password        hocon.Secret
	Token           hocon.Secret
	CredentialsFile string
	TLS             *tls.Config
	// IdleTimeout and ConnectTimeout are those of broker.Config.
	IdleTimeout    time.Duration
	ConnectTimeout time.Duration
}

// Validate reports the first setting that cannot work, as a *broker.FieldError. It looks whether the credentials file is
// there and does not block otherwise.
func (s Settings) Validate() error {
	if len(s.Servers) == 0 {
		return broker.Missing("servers")
	}
	for _, raw := range s.Servers {
		if !serverIsValid(raw) {
			return broker.Invalid("servers", raw, "must be host:port, or a URL with nats, tls, ws or wss and a host")
		}
	}
	if s.User != "" && !s.Token.Empty() {
		return &broker.FieldError{Key: "token", Msg: "must not be set together with user: there is one way to sign in"}
	}
	if !s.Password.Empty() && s.User == "" {
		return &broker.FieldError{Key: "user", Msg: "required when password is set"}
	}
	if s.CredentialsFile != "" {
		if s.User != "" || !s.Token.Empty() {
			return &broker.FieldError{Key: "credentialsFile", Msg: "must not be set together with user or token: there is one way to sign in"}
		}
		if _, err := os.Stat(s.CredentialsFile); err != nil {
			return &broker.FieldError{Key: "credentialsFile", Msg: "must be a readable file: " + err.Error()}
		}
	}
	return nil
}

// serverIsValid parses an entry without ever letting the parser's error out: it quotes the input, password included.
func serverIsValid(raw string) bool {
	if strings.ContainsAny(raw, " \t\r\n,") {
		return false
	}
	u, err := url.Parse(withScheme(raw))
	if err != nil || u.Hostname() == "" {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "nats", "tls", "ws", "wss":
		return true
	}
	return false
}

// withScheme prefixes a bare entry; one that has a scheme stays as it is.
func withScheme(server string) string {
	if strings.Contains(server, "://") {
		return server
	}
	return "nats://" + server
}

// Label joins the servers as they were configured, bare entries with their scheme.
func (s Settings) Label() string {
	out := make([]string, len(s.Servers))
	for i, server := range s.Servers {
		out[i] = withScheme(server)
	}
	return strings.Join(out, ",")
}

// Secrets are the credentials that are not in the label.
func (s Settings) Secrets() []string {
	var out []string
	for _, v := range []hocon.Secret{s.Password, s.Token} {
		if !v.Empty() {
			out = append(out, v.Reveal())
		}
	}
	return out
}
