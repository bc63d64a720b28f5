require "json"
require "webrick"

server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ENV.fetch("PORT", 8000).to_i)
server.mount_proc "/" do |request, response|
  id = request["webhook-id"] # the same on each attempt: what is done for it once need not be done again
  to = JSON.parse(request.body)["to"]
  response.status = to ? 200 : 422
  response["Content-Type"] = "application/json"
  response.body = JSON.generate({ id:, sent_to: to })
end
trap("TERM") { server.shutdown }
server.start
