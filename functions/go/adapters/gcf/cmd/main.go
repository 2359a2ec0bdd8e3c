// The function in Google's framework at HOST and PORT, as on the platform.
package main

import (
	"cmp"
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "github.com/swtch-tools/swtch/functions/go/adapters/gcf"
)

func main() {
	log.Fatal(funcframework.StartHostPort(os.Getenv("HOST"), cmp.Or(os.Getenv("PORT"), "8080")))
}
