package main

import (
	"context"
	"encoding/json"
	"syscall/js"

	"cudacompat/internal/budget"
)

// main defines the function cudacompat(request, done) for the page's worker. It judges a paste, given as JSON, and
// calls done with the answer as JSON.
func main() {
	budget.CollectLate(budget.RunMemory)
	judge := js.FuncOf(func(_ js.Value, args []js.Value) any {
		go func() {
			var p paste
			if err := json.Unmarshal([]byte(args[0].String()), &p); err != nil {
				panic(err) // the worker's own mistake
			}
			answer, err := json.Marshal(judgePaste(budget.LimitMemory(context.Background(), budget.RunMemory), p))
			if err != nil {
				panic(err)
			}
			args[1].Invoke(string(answer))
		}()
		return nil
	})
	js.Global().Set("cudacompat", judge)
	select {}
}

// ignoreBrokenPipe does nothing, because a page has no pipes.
func ignoreBrokenPipe() {}
