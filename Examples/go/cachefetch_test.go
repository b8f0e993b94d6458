package cachefetch

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func begin(t *testing.T) (*httptest.Server, *string) {
	t.Setenv("CACHEFETCH_STORE", filepath.Join(t.TempDir(), "store.sqlite"))
	body := "first"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
	t.Cleanup(server.Close)
	return server, &body
}

func expect(t *testing.T, wanted string, url string, options ...string) {
	t.Helper()
	var got []string
	deliveries, ended := Get(context.Background(), url, options...)
	for delivery := range deliveries {
		got = append(got, delivery.Kind+" "+string(delivery.Bytes()))
	}
	if err := ended(); err != nil || strings.Join(got, ", ") != wanted {
		t.Fatalf("%q, %v; not %q", got, err, wanted)
	}
}

func TestStoredThenFreshThenFailure(t *testing.T) {
	server, body := begin(t)
	expect(t, "fresh first", server.URL)
	*body = "\xff\x00second"
	expect(t, "stored first, fresh \xff\x00second", server.URL)
	server.Close()
	expect(t, "stored \xff\x00second, failure ", server.URL, "--retry", "0")
}

func TestLeavingEarlyEndsTheCommand(t *testing.T) {
	server, _ := begin(t)
	expect(t, "fresh first", server.URL)
	ctx, cancel := context.WithCancel(context.Background())
	deliveries, ended := Get(ctx, server.URL)
	if delivery := <-deliveries; delivery.Kind != "stored" {
		t.Fatal(delivery)
	}
	cancel()
	_ = ended()
}

func TestAWrongOptionIsAnError(t *testing.T) {
	server, _ := begin(t)
	deliveries, ended := Get(context.Background(), server.URL, "--nonsense")
	for range deliveries {
	}
	if err := ended(); err == nil || !strings.Contains(err.Error(), "--nonsense") {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/nowhere")
	_, ended = Get(context.Background(), server.URL)
	if ended() == nil {
		t.Fatal("a program that is not there is no error")
	}
}

func TestAProcessThatServesIsAsked(t *testing.T) {
	server, _ := begin(t)
	serve := exec.Command("cachefetch", "serve", "-v")
	said, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Process.Kill(); serve.Wait() })
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.Contains(lines.Text(), "listening"); {
	}
	var got []string
	take := func(delivery Delivery) { got = append(got, delivery.Kind+" "+string(delivery.Bytes())) }
	store := os.Getenv("CACHEFETCH_STORE")
	for _, members := range []map[string]any{nil, {"max_age": "1h"}} {
		if err := Ask(context.Background(), store, server.URL, members, take); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(got, ", ") != "fresh first, stored first" {
		t.Fatal(got)
	}
	err = Ask(context.Background(), store, server.URL, map[string]any{"nonsense": 1}, take)
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Fatal(err)
	}
}
