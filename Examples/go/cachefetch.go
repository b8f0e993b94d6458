// Package cachefetch has what the command delivers for a URL: what is stored at once, then the fresh response or a failure.
//
//	deliveries, ended := cachefetch.Get(ctx, "https://api.example.com/news", "--max-age", "5m")
//	for delivery := range deliveries {
//		fmt.Println(delivery.Kind, delivery.Change, string(delivery.Bytes()))
//	}
//	err := ended()
package cachefetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
)

// Delivery is one object of `cachefetch --json`; docs/delivery.schema.json has the other fields.
type Delivery struct {
	Kind   string `json:"delivery"`
	Status int    `json:"status"`
	Change string `json:"change"`
	Body   string `json:"body"`
	Binary []byte `json:"body_base64"`
	Error  *struct{ Kind, Message string }
}

// Bytes is the body.
func (delivery Delivery) Bytes() []byte {
	if delivery.Binary != nil {
		return delivery.Binary
	}
	return []byte(delivery.Body)
}

// Get sends each delivery as it comes; whoever leaves the loop early cancels the context. The function, called after the
// loop, says whether the command could do what it was asked; statuses 3, 4 and 22 are in the deliveries.
func Get(ctx context.Context, url string, options ...string) (<-chan Delivery, func() error) {
	command := exec.CommandContext(ctx, "cachefetch", append(append([]string{"--json", "-sS"}, options...), "--", url)...)
	deliveries, result, said := make(chan Delivery), make(chan error, 1), &bytes.Buffer{}
	command.Stderr = said
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	go func() {
		defer close(deliveries)
		for lines := json.NewDecoder(output); err == nil; {
			var delivery Delivery
			if lines.Decode(&delivery) != nil {
				break
			}
			select {
			case deliveries <- delivery:
			case <-ctx.Done():
			}
		}
		if err == nil {
			err = command.Wait()
		}
		switch command.ProcessState.ExitCode() {
		case 3, 4, 22:
			err = nil
		case 64, 65, 74:
			err = fmt.Errorf("%w: %s", err, said)
		}
		result <- err
	}()
	return deliveries, func() error { return <-result }
}

// Ask gets each delivery from a `cachefetch serve` of that store, over connections that it keeps; members are further ones of
// the line that asks (docs/serve.schema.json).
func Ask(ctx context.Context, store, url string, members map[string]any, take func(Delivery)) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", store+".serve")
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		<-ctx.Done()
		connection.Close()
	}()
	line := map[string]any{"url": url}
	for name, member := range members {
		line[name] = member
	}
	if err = json.NewEncoder(connection).Encode(line); err != nil {
		return err
	}
	for lines := json.NewDecoder(connection); ; {
		var delivery Delivery
		if err = lines.Decode(&delivery); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if delivery.Kind == "" {
			return errors.New(delivery.Error.Message)
		}
		take(delivery)
	}
}
