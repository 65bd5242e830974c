// A client on the official SDK with its default settings. Connects to a URL, its only argument, or starts a server, if
// there are several arguments. Each input line is a JSON list of calls {"tool": NAME, "args": {…}}. Makes the calls of
// a line at the same time, and prints the texts of their answers as a JSON list.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type step struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

func call(ctx context.Context, session *mcp.ClientSession, todo step) string {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: todo.Tool, Arguments: todo.Args})
	if err != nil {
		return "error: " + err.Error()
	}
	return result.Content[0].(*mcp.TextContent).Text
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: os.Args[1]}
	if len(os.Args) > 2 {
		transport = &mcp.CommandTransport{Command: exec.Command(os.Args[1], os.Args[2:]...)}
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
 // The calls of a line are made at the same time.
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var steps []step
		if err := json.Unmarshal(lines.Bytes(), &steps); err != nil {
			log.Fatal(err)
		}
		answers := make([]string, len(steps))
		var all sync.WaitGroup
		for i, todo := range steps {
			all.Go(func() { answers[i] = call(ctx, session, todo) })
		}
		all.Wait()
		text, _ := json.Marshal(answers)
		fmt.Println(string(text))
	}
}
