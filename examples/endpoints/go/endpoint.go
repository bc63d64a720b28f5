package main

import (
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		id := request.Header.Get("webhook-id") // the same on each attempt: what is done for it once need not be done again
		var payload struct{ To string }
		if json.NewDecoder(request.Body).Decode(&payload) != nil || payload.To == "" {
			response.WriteHeader(422)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		json.NewEncoder(response).Encode(map[string]string{"id": id, "sent_to": payload.To})
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
