import sys, httpx

with httpx.Client(transport=httpx.HTTPTransport(retries=4)) as client:
    response = client.get(sys.argv[1] + "/price")
    response.raise_for_status()
    print(response.text)
